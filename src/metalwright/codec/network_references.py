"""Fabrics, cables and network boot: do their names and addresses fit together."""

import ipaddress

from metalwright.codec.draft import Draft
from metalwright.codec.notebook import Notebook, did_you_mean, quote
from metalwright.codec.once import Once
from metalwright.model.spec import CableSpec, FabricSpec, NetbootSpec

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_fabrics(draft: Draft, book: Notebook) -> None:
    """Each fabric once, and a subnet that is one."""
    once = Once("fabric", book)
    for path, fabric in draft.each("fabrics", FabricSpec):
        once.add(fabric.name, (*path, "name"), fabric.name, hint="one entry per fabric")
        if fabric.subnet is None:
            continue
        try:
            ipaddress.ip_network(fabric.subnet)
        except ValueError:
            book.blame((*path, "subnet"), f"{quote(fabric.subnet)} is not a network", "write its first address and length: 10.20.0.0/22")


def check_cables(draft: Draft, book: Notebook) -> None:
    """Each label once, each port in one cable, each cable between two ports of a declared fabric."""
    labels = Once("cable label", book)
    ports: dict[tuple[str, str], CableSpec] = {}
    lines: dict[str, int] = {}
    for path, cable in draft.each("cables", CableSpec):
        labels.add(cable.label, (*path, "label"), cable.label, hint="labels name one cable each")
        lines.setdefault(cable.label, book.place(path).line)
        if cable.fabric not in draft.named("fabrics") and "fabrics" not in draft.unsure:
            book.blame(
                (*path, "fabric"),
                f"no fabric {quote(cable.fabric)} is declared",
                did_you_mean(cable.fabric, draft.named("fabrics"), "fabrics"),
            )
        ends = {"a": (cable.a_device, cable.a_port), "b": (cable.b_device, cable.b_port)}
        if ends["a"] == ends["b"]:
            book.blame(
                (*path, "b_port"), f"cable {cable.label} leads from {cable.a_device} port {cable.a_port} to itself", "check the far end"
            )
            continue
        for end, port in ends.items():
            first = ports.setdefault(port, cable)
            if first is not cable:
                where = f"{first.label} (line {lines[first.label]})"
                message = f"cable {cable.label}: {port[0]} port {port[1]} is already used by {where}"
                book.blame((*path, f"{end}_port"), message, "a port takes one cable: correct one of the two lines")


def check_netboot(draft: Draft, book: Notebook) -> None:
    """Our own DHCP server needs an interface and a range."""
    netboot = draft.value("netboot", NetbootSpec)
    if netboot is None:
        return
    if netboot.dhcp == "metalwright":
        for name in ("interface", "range_start", "range_end"):
            if getattr(netboot, name) is None:
                book.blame(("netboot", name), f"{name} is missing", "dhcp: metalwright serves a range of addresses on an interface")
    ends = [_address(netboot, name, book) for name in ("range_start", "range_end")]
    if ends[0] is None or ends[1] is None:
        return
    if ends[0].version != ends[1].version or int(ends[0]) > int(ends[1]):
        book.blame(("netboot", "range_end"), f"the range {ends[0]} to {ends[1]} is empty", "the first address comes first")


def _address(netboot: NetbootSpec, name: str, book: Notebook) -> Address | None:
    text = getattr(netboot, name)
    if text is None:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        book.blame(("netboot", name), f"{quote(text)} is not an IP address", "such as 10.20.0.100")
        return None
