"""Who the machine is: serials, UUID, model, BIOS, memory size, TPM."""

from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.documents import inner, links_of, objects, text_of
from metalwright.drivers.redfish.inventory.sight import Sight
from metalwright.model.hardware import Identity

Document = Mapping[str, Any]
_WHOLE_MACHINES = frozenset({"RackMount", "Shelf", "Sled", "Blade", "Enclosure", "StandAlone", "Tower", "Drawer", "Pod", "Other"})
_TPM_VERSIONS = {"TPM1_2": "1.2", "TPM2_0": "2.0", "TCM1_0": "TCM 1.0"}


def read_identity(sight: Sight) -> Identity:
    """Identity of the host; a gap for the system serial when there is none."""
    host = sight.host
    chassis = _chassis_of_host(sight)
    serial = sight.vendor.system_serial(host) or serial_from_chassis(sight.host_path, sight.chassis)
    if serial is None:
        sight.gap("identity/system_serial", "the BMC shows no serial, or a placeholder")
    uuid = text_of(host.get("UUID"))
    return Identity(
        system_serial=serial,
        board_serial=sight.vendor.board_serial(host, chassis),
        uuid=uuid.lower() if uuid else None,
        manufacturer=text_of(host.get("Manufacturer")) or text_of(chassis.get("Manufacturer")),
        model=text_of(host.get("Model")) or text_of(chassis.get("Model")),
    )


def serial_from_chassis(host_path: str | None, chassis: tuple[tuple[str, Document], ...]) -> str | None:
    """Where the system has no serial (GB200 trays), that of the one whole chassis which says it holds the host."""
    found = {text_of(document.get("SerialNumber")) for _, document in chassis if holds_host(document, host_path)} - {None}
    return found.pop() if len(found) == 1 else None


def holds_host(chassis: Document, host_path: str | None) -> bool:
    """A chassis that is a whole machine, not a board of one, and names the host among its systems."""
    is_whole = str(chassis.get("ChassisType")) in _WHOLE_MACHINES
    return is_whole and host_path in links_of(inner(chassis, "Links").get("ComputerSystems"))


def read_memory_mib(sight: Sight) -> int | None:
    """Total memory as the host sums it up."""
    gib = sight.documents.number(inner(sight.host, "MemorySummary"), "TotalSystemMemoryGiB")
    return int(gib * 1024) if gib else None


def read_tpm(sight: Sight) -> str | None:
    """TPM version: from the system's TrustedModules (until 2023) or from trusted components of the chassis."""
    for module in objects(sight.host.get("TrustedModules")):
        version = _TPM_VERSIONS.get(str(module.get("InterfaceType")))
        if version and inner(module, "Status").get("State") not in ("Absent", "Disabled"):
            return version
    for _, chassis in sight.chassis:
        for _, component in sight.members(chassis.get("TrustedComponents"), "tpm"):
            text = " ".join(str(component.get(name, "")) for name in ("Id", "Name", "Description", "Model"))
            if "TPM" in text:
                return "2.0" if "2.0" in text else text_of(component.get("FirmwareVersion")) or "unknown"
    if not isinstance(sight.host.get("TrustedModules"), list):
        sight.gap("tpm", "not shown by the BMC")
    return None


def _chassis_of_host(sight: Sight) -> Document:
    for path in links_of(inner(sight.host, "Links").get("Chassis")):
        if (found := sight.documents.get(path)) is not None and found:
            return found
    return {}
