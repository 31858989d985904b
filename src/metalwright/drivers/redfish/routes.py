"""Which links an inventory follows: by the property that holds the link, never by a path or an id. Pure.

A route is named after what it leads to. `LIST` routes lead to collections, whose members take the route after the colon.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from metalwright.drivers.redfish.documents import inner, link_of, links_of, objects

Document = Mapping[str, Any]
Step = tuple[str, str]
"""(path, route)."""

_LISTS: dict[str, tuple[tuple[str, str], ...]] = {
    "root": (("Systems", "system"), ("Chassis", "chassis"), ("Fabrics", "fabric"), ("Managers", "manager")),
    "system": (
        ("Processors", "processor"),
        ("Memory", "memory"),
        ("Storage", "storage"),
        ("SimpleStorage", "simple-storage"),
        ("EthernetInterfaces", "ethernet"),
    ),
    "chassis": (("PCIeDevices", "pcie-device"), ("NetworkAdapters", "adapter"), ("Drives", "drive"), ("TrustedComponents", "trusted")),
    "adapter": (("NetworkDeviceFunctions", "function"),),
    "update": (("FirmwareInventory", "firmware"),),
    "power-subsystem": (("PowerSupplies", "power-supply"),),
}
"""Route of a document → (property that holds a collection, route of its members)."""

_PARTS_OF_A_BOARD = frozenset({"Component", "Module", "Zone", "Card", "Cartridge"})
"""Chassis types that have no power supplies of their own: an HGX board lists 40 of them, each with an empty PowerSubsystem."""


def links(route: str, document: Document, *, ports: bool, counters: bool) -> Iterator[Step]:
    """Where to go from a document that was reached by `route`. `list:x` is a collection of x."""
    for name, members in _LISTS.get(route, ()):
        if (target := link_of(document.get(name))) is not None:
            yield target, f"list:{members}"
    if (onward := _ONWARD.get(route)) is not None:
        yield from onward(document)
    elif route in ("processor", "switch"):  # `_WITH_PORTS`, whose links depend on what is wanted
        yield from (_from_processor if route == "processor" else _from_switch)(document, ports)
    if route == "root" and counters:
        yield from _one(document.get("ComponentIntegrity"), "list:integrity")
    if route == "link-port" and counters:
        yield from _one(document.get("Metrics"), "port-metrics")


def goes_on(route: str) -> bool:
    """Whether documents reached so have links to follow; most (DIMMs, PCIe devices, firmware) have none."""
    return route in _LISTS or route in _ONWARD or route in _WITH_PORTS


def _from_root(root: Document) -> Iterator[Step]:
    yield from _one(root.get("UpdateService"), "update")


def _from_system(system: Document) -> Iterator[Step]:
    yield from ((target, "pcie-device") for target in links_of(system.get("PCIeDevices")))
    yield from ((target, "chassis") for target in links_of(inner(system, "Links").get("Chassis")))


def _from_storage(storage: Document) -> Iterator[Step]:
    yield from ((target, "drive") for target in links_of(storage.get("Drives")))


def _from_fabric(fabric: Document) -> Iterator[Step]:
    if fabric.get("FabricType") in (None, "NVLink"):
        yield from _one(fabric.get("Switches"), "list:switch")


def _from_chassis(chassis: Document) -> Iterator[Step]:
    yield from ((target, "drive") for target in links_of(inner(chassis, "Links").get("Drives")))
    if str(chassis.get("ChassisType")) in _PARTS_OF_A_BOARD:
        return
    if link_of(chassis.get("PowerSubsystem")):
        yield from _one(chassis.get("PowerSubsystem"), "power-subsystem")
    else:
        yield from _one(chassis.get("Power"), "power")


def _from_processor(processor: Document, ports: bool) -> Iterator[Step]:
    if processor.get("ProcessorType") != "GPU":
        return
    yield from _one(inner(processor, "Links").get("PCIeDevice"), "pcie-device")
    if ports:
        yield from _one(processor.get("Ports"), "list:link-port")


def _from_adapter(adapter: Document) -> Iterator[Step]:
    """`NetworkPorts` is what `Ports` was called before 2020.4; both list the same ports."""
    if link_of(adapter.get("Ports")):
        yield from _one(adapter.get("Ports"), "list:network-port")
    else:
        yield from _one(adapter.get("NetworkPorts"), "list:network-port")
    for controller in objects(adapter.get("Controllers")):
        yield from ((target, "pcie-device") for target in links_of(inner(controller, "Links").get("PCIeDevices")))


def _from_switch(switch: Document, ports: bool) -> Iterator[Step]:
    if not is_nvlink_switch(switch):
        return
    yield from _one(inner(switch, "Links").get("PCIeDevice"), "pcie-device")
    yield from _one(inner(switch, "Links").get("Chassis"), "chassis")
    if ports:
        yield from _one(switch.get("Ports"), "list:switch-port")  # the other ends: who they name, not what they count


def is_nvlink_switch(switch: Document) -> bool:
    """A switch of the NVLink fabric, by its type or by the protocols it speaks."""
    protocols = switch.get("SupportedProtocols")
    return switch.get("SwitchType") == "NVLink" or (isinstance(protocols, list) and "NVLink" in protocols)


def _one(value: object, route: str) -> Iterator[Step]:
    target = link_of(value)
    if target is not None:
        yield target, route


_ONWARD: dict[str, Callable[[Document], Iterator[Step]]] = {
    "root": _from_root,
    "system": _from_system,
    "chassis": _from_chassis,
    "storage": _from_storage,
    "adapter": _from_adapter,
    "fabric": _from_fabric,
}
"""Route of a document → what it links to beside its collections."""
_WITH_PORTS = frozenset({"processor", "switch", "link-port"})
