"""NVSwitches and the NVLink graph: each GPU port, the switch port it says it reaches, and whether that one agrees."""

from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.documents import identifier, inner, is_absent, link_of, links_of, text_of, trailing_number
from metalwright.drivers.redfish.inventory.sight import Sight
from metalwright.drivers.redfish.routes import is_nvlink_switch
from metalwright.model.hardware import Gpu, NvLink, NvSwitch

Document = Mapping[str, Any]
_STATES = {"LinkUp": "up", "Up": "up", "LinkDown": "down", "NoLink": "down", "Down": "down", "Starting": "training", "Training": "training"}


def read_nvswitches(sight: Sight) -> tuple[NvSwitch, ...]:
    """Switches of NVLink fabrics, by number."""
    found: list[NvSwitch] = []
    if link_of(sight.root.get("Fabrics")) is None:
        sight.gap("nvswitches", "the BMC shows no fabrics")
    for path, document in _switches(sight):
        name = identifier(path, document)
        _, chassis = sight.linked(inner(document, "Links").get("Chassis"), "nvswitches")
        _, device = sight.linked(inner(document, "Links").get("PCIeDevice"), "nvswitches")
        serials = (text_of(part.get("SerialNumber")) for part in (document, chassis, device))
        serial = next((serial for serial in serials if serial), None)
        number = trailing_number(name)
        index = len(found) if number is None else number
        if serial is None:
            sight.gap(f"nvswitches/{index}/serial", "not shown by the BMC")
        found.append(NvSwitch(index=index, name=name, model=text_of(document.get("Model")), serial=serial))
    return tuple(sorted(found, key=lambda switch: switch.index))


def read_nvlinks(sight: Sight, gpus: tuple[tuple[str, Gpu], ...]) -> tuple[NvLink, ...]:
    """All links of all GPUs, by GPU and port. A port that is listed and could not be read is `unknown`, with a gap."""
    owners = _port_owners(sight, gpus)
    found = []
    for path, gpu in gpus:
        ports = link_of(sight.documents.get(path).get("Ports")) or ""
        if not sight.documents.pages.get(ports) and ports not in sight.documents.failed:
            sight.gap(f"nvlinks/{gpu.index}", "the BMC lists no NVLink ports of this GPU")
            continue
        for port_path, port in sight.members({"@odata.id": ports}, f"nvlinks/{gpu.index}"):
            if port.get("PortProtocol", "NVLink") == "NVLink":
                found.append(_link(sight, gpu.index, port_path, port, owners))
        for port_path in sight.documents.pages.get(ports, ()):
            if port_path in sight.documents.failed:
                found.append(NvLink(gpu=gpu.index, port=_number(port_path, {}), state="unknown"))
    return tuple(sorted(found, key=lambda link: (link.gpu, link.port)))


def _switches(sight: Sight) -> list[tuple[str, Document]]:
    found = []
    for _, fabric in sight.members(sight.root.get("Fabrics"), "nvswitches"):
        for path, switch in sight.members(fabric.get("Switches"), "nvswitches"):
            if is_nvlink_switch(switch) and not is_absent(switch):
                found.append((path, switch))
    return found


def _port_owners(sight: Sight, gpus: tuple[tuple[str, Gpu], ...]) -> dict[str, str]:
    """Ports collection → name of what owns it, so that a port's path gives `NVSwitch_1:12`."""
    owners = {}
    for path, switch in _switches_again(sight):
        if (ports := link_of(switch.get("Ports"))) is not None:
            owners[ports] = identifier(path, switch)
    for path, gpu in gpus:
        if (ports := link_of(sight.documents.get(path).get("Ports"))) is not None:
            owners[ports] = gpu.name
    return owners


def _switches_again(sight: Sight) -> list[tuple[str, Document]]:
    """The switches without marking their gaps a second time."""
    before = len(sight.gaps)
    found = _switches(sight)
    del sight.gaps[before:]
    return found


def _link(sight: Sight, gpu: int, path: str, port: Document, owners: Mapping[str, str]) -> NvLink:
    documents = sight.documents
    links = inner(port, "Links")
    peers = links_of(links.get("ConnectedSwitchPorts")) or links_of(links.get("ConnectedPorts"))
    peer_path = peers[0] if peers else None
    width = documents.whole(inner(port, "Oem", "Nvidia"), "RXWidth")
    return NvLink(
        gpu=gpu,
        port=_number(path, port),
        state=_state(port),
        gbps=documents.number(port, "CurrentSpeedGbps"),
        width=documents.whole(port, "ActiveWidth") if width is None else width,
        peer=_peer_name(documents.get(peer_path), peer_path, owners),
        peer_agrees=_agrees(documents.get(peer_path), path),
        errors=_errors(sight, port),
    )


def _state(port: Document) -> str:
    if port.get("LinkState") == "Disabled":
        return "down"
    return _STATES.get(str(port.get("LinkStatus")), "unknown")


def _peer_name(peer: Document, peer_path: str | None, owners: Mapping[str, str]) -> str | None:
    if peer_path is None:
        return None
    ports, _, _ = peer_path.rpartition("/")
    owner = owners.get(ports) or ports.rpartition("/")[0].rpartition("/")[2]
    return f"{owner}:{_number(peer_path, peer)}"


def _agrees(peer: Document, path: str) -> bool | None:
    """Whether the other end names this port. None when it could not be read or names nothing at all."""
    if not peer:
        return None
    links = inner(peer, "Links")
    named = links_of(links.get("ConnectedPorts")) or links_of(links.get("ConnectedSwitchPorts"))
    return path in named if named else None


def _number(path: str, port: Document) -> int:
    number = trailing_number(identifier(path, port))
    return -1 if number is None else number


def _errors(sight: Sight, port: Document) -> int | None:
    """Sum of the NVLink error counters; a runtime or training error counts one. None when counters were not read."""
    metrics = sight.documents.get(link_of(port.get("Metrics")))
    counters = inner(metrics, "Oem", "Nvidia", "NVLinkErrors") or inner(metrics, "Oem", "Nvidia")
    values = [value for name, value in counters.items() if isinstance(value, int) and name.endswith(("Count", "Error"))]
    return sum(int(value) for value in values) if values else None
