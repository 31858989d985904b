"""NICs: network adapters of every chassis with their functions and ports, or the host's interfaces where no adapter is shown."""

from collections.abc import Iterator, Mapping
from typing import Any

from metalwright.drivers.redfish.documents import identifier, inner, is_absent, links_of, objects, text_of
from metalwright.drivers.redfish.inventory.sight import Sight, pcie_link
from metalwright.model.hardware import Nic, PcieLink

Document = Mapping[str, Any]


def read_nics(sight: Sight) -> tuple[Nic, ...]:
    """Sorted by name. A NIC shown under two chassis is one, by name and serial: two chips of one IO board share its serial."""
    found: dict[str, Nic] = {}
    for _, chassis in sight.chassis:
        for path, adapter in sight.members(chassis.get("NetworkAdapters"), "nics"):
            if is_absent(adapter):
                continue
            nic = _nic(sight, path, adapter)
            found.setdefault(f"{nic.name} {nic.serial}" if nic.serial else path, nic)
    if not found:
        found = {nic.name: nic for nic in _interfaces(sight)}
    for nic in found.values():
        if nic.serial is None:
            sight.gap(f"nics/{nic.name}/serial", "not shown by the BMC")
        if nic.rate_gbps is None:
            sight.gap(f"nics/{nic.name}/rate", "not shown by the BMC")
    return tuple(sorted(found.values(), key=lambda nic: nic.name))


def _nic(sight: Sight, path: str, adapter: Document) -> Nic:
    name = identifier(path, adapter)
    device = _pcie_device(sight, adapter)
    functions = list(sight.members(adapter.get("NetworkDeviceFunctions"), f"nics/{name}"))
    ports = list(sight.members(adapter.get("Ports") or adapter.get("NetworkPorts"), f"nics/{name}"))
    return Nic(
        name=name,
        model=text_of(adapter.get("Model")) or text_of(device.get("Model")),
        serial=text_of(adapter.get("SerialNumber")) or text_of(device.get("SerialNumber")),
        part_number=text_of(adapter.get("PartNumber")) or text_of(device.get("PartNumber")),
        macs=_macs([*functions, *ports]),
        rate_gbps=_rate_gbps(sight, [port for _, port in ports]),
        rdma=_is_rdma([*functions, *ports]),
        pcie=_pcie(sight, adapter) or pcie_link(sight.documents, inner(device, "PCIeInterface")),
    )


def _pcie_device(sight: Sight, adapter: Document) -> Document:
    for controller in objects(adapter.get("Controllers")):
        for path in links_of(inner(controller, "Links").get("PCIeDevices")):
            return sight.documents.get(path)
    return {}


def _pcie(sight: Sight, adapter: Document) -> PcieLink | None:
    for controller in objects(adapter.get("Controllers")):
        link = pcie_link(sight.documents, inner(controller, "PCIeInterface"))
        if link is not None:
            return link
    return None


def _macs(resources: list[tuple[str, Document]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for _, document in resources:
        ethernet = inner(document, "Ethernet")
        own = ethernet.get("PermanentMACAddress") or ethernet.get("MACAddress")
        listed = document.get("AssociatedNetworkAddresses") or ethernet.get("AssociatedMACAddresses")
        for text in [own, *(listed if isinstance(listed, list) else [])]:
            mac = _mac(text)
            if mac:
                found[mac] = None
    return tuple(sorted(found))


def _mac(value: object) -> str | None:
    """`94:6D:AE:91:6A:9A` or `946DAE916A9A` → lower case with colons; None for zeros and anything else."""
    digits = str(value).replace(":", "").replace("-", "").lower() if value else ""
    if len(digits) != 12 or set(digits) - set("0123456789abcdef") or set(digits) == {"0"}:
        return None
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2))


def _rate_gbps(sight: Sight, ports: list[Document]) -> float | None:
    """The fastest port: what it can do, else what it does now."""
    rates = []
    for port in ports:
        rates += [sight.documents.number(port, name) for name in ("MaxSpeedGbps", "CurrentSpeedGbps")]
        rates += [_gbps(sight.documents.number(link, "LinkSpeedMbps")) for link in objects(port.get("SupportedLinkCapabilities"))]
        rates.append(_gbps(sight.documents.number(port, "CurrentLinkSpeedMbps")))
    known = [rate for rate in rates if rate]
    return max(known) if known else None


def _gbps(mbps: float | None) -> float | None:
    return mbps / 1000 if mbps else None


def _is_rdma(resources: list[tuple[str, Document]]) -> bool | None:
    """True for InfiniBand. Ethernet may or may not carry RoCE: Redfish does not say."""
    names = ("LinkNetworkTechnology", "PortProtocol", "ActiveLinkTechnology", "NetDevFuncType")
    return True if any(document.get(name) == "InfiniBand" for _, document in resources for name in names) else None


def _interfaces(sight: Sight) -> Iterator[Nic]:
    for path, document in sight.members(sight.host.get("EthernetInterfaces"), "nics"):
        mac = _mac(document.get("PermanentMACAddress")) or _mac(document.get("MACAddress"))
        if mac and not is_absent(document):
            rate = _gbps(sight.documents.number(document, "SpeedMbps"))
            yield Nic(name=identifier(path, document), macs=(mac,), rate_gbps=rate)
