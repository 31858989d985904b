"""Power supplies and the firmware list."""

from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.documents import identifier, inner, is_absent, link_of, objects, text_of
from metalwright.drivers.redfish.inventory.sight import Sight
from metalwright.model.hardware import Firmware, Psu

Document = Mapping[str, Any]


def read_psus(sight: Sight) -> tuple[Psu, ...]:
    """Of every chassis: from its PowerSubsystem, or from Power before 2020.4 (Q57)."""
    found: dict[str, Psu] = {}
    for _, chassis in sight.chassis:
        _, subsystem = sight.linked(chassis.get("PowerSubsystem"), "psus")
        supplies = list(sight.members(subsystem.get("PowerSupplies"), "psus"))
        if not supplies:
            _, power = sight.linked(chassis.get("Power"), "psus")
            supplies = [(str(number), supply) for number, supply in enumerate(objects(power.get("PowerSupplies")))]
        for path, supply in supplies:
            if not is_absent(supply):
                psu = _psu(sight, path, supply)
                found.setdefault(psu.serial or f"{link_of(supply) or path}/{psu.name}", psu)
    return tuple(sorted(found.values(), key=lambda psu: psu.name))


def _psu(sight: Sight, path: str, supply: Document) -> Psu:
    watts = sight.documents.whole(supply, "PowerCapacityWatts")
    return Psu(
        name=text_of(supply.get("Id")) or text_of(supply.get("Name")) or identifier(path, supply),
        serial=text_of(supply.get("SerialNumber")),
        health=text_of(inner(supply, "Status").get("Health")),
        watts=watts or None,
    )


def read_firmware(sight: Sight) -> tuple[Firmware, ...]:
    """Installed firmware by component, sorted; entries without a version stay, with None."""
    found: dict[str, Firmware] = {}
    _, service = sight.linked(sight.root.get("UpdateService"), "firmware")
    for path, document in sight.members(service.get("FirmwareInventory"), "firmware"):
        component = sight.vendor.firmware_component(identifier(path, document), document)
        if component is not None:
            found[component] = Firmware(component=component, version=text_of(document.get("Version")))
    return tuple(found[component] for component in sorted(found))
