"""Rows of a scaffold: names, serials, addresses. Pure: the same kind, name and count give the same rows."""

import hashlib
import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metalwright.codec.scaffold_kinds import ScaffoldKind

ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One line of nodes.csv."""

    name: str
    rack: str
    unit: int
    serial: str
    bmc: str
    boot_mac: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """One line of packing-list.csv."""

    part: str
    serial: str
    kind: str
    node_serial: str = ""


def node_rows(kind: ScaffoldKind, site: str, count: int) -> list[NodeRow]:
    """`count` servers, racked from the bottom. ValueError when the count is not between 1 and the most."""
    if not 1 <= count <= kind.most_nodes:
        raise ValueError(f"the scaffold {kind.name} has 1 to {kind.most_nodes:,} nodes, not {count:,}")
    digits = max(2, len(str(count)))
    return [_node_row(kind, site, index, digits) for index in range(count)]


def _node_row(kind: ScaffoldKind, site: str, index: int, digits: int) -> NodeRow:
    return NodeRow(
        name=f"{site}{index + 1:0{digits}d}",
        rack=rack_name(index // kind.nodes_per_rack),
        unit=1 + (index % kind.nodes_per_rack) * kind.rack_units,
        serial=f"MW{index + 1:05d}{seeded(site, kind.name, 'system', index, length=5)}",
        bmc=_bmc(kind, index),
        boot_mac=_mac(site, index),
    )


def rack_name(index: int) -> str:
    """`r01`, `r02`, …, `r125`."""
    return f"r{index + 1:02d}"


def _bmc(kind: ScaffoldKind, index: int) -> str:
    """250 addresses of each /24, so that no address ends in 0 or 255."""
    first = ipaddress.IPv4Address(kind.bmc)
    block, place = divmod(index + (int(first) & 0xFF) - 1, 250)
    address = ipaddress.IPv4Address((int(first) & 0xFFFFFF00) + (block << 8) + place + 1)
    return f"https://{address}" + (f":{kind.port}" if kind.port else "")


def _mac(site: str, index: int) -> str:
    """Locally administered; the last 24 bits count the nodes, the others tell sites apart."""
    middle = hashlib.sha256(f"mac/{site}".encode()).digest()[:2]
    return ":".join(f"{byte:02x}" for byte in (0x02, *middle, *index.to_bytes(3, "big")))


def part_rows(kind: ScaffoldKind, site: str, nodes: Sequence[NodeRow]) -> Iterator[PartRow]:
    """The packing list: each server and what is inside it, in the order of the slots."""
    for index, node in enumerate(nodes):
        yield PartRow(part=kind.system_part, serial=node.serial, kind="system")
        for what, (part, count) in kind.parts.items():
            for slot in range(count):
                yield PartRow(part=part, serial=_part_serial(what, site, index, slot), kind=what, node_serial=node.serial)


def _part_serial(what: str, site: str, index: int, slot: int) -> str:
    """Looks like the maker's; node and slot are inside, so that no two are equal whatever the seed gives."""
    tail = seeded(site, what, index, slot, length=4)
    digits = f"{int(tail, 36) % 10_000:04d}"
    match what:
        case "gpu":
            return f"165{index:05d}{slot}{digits}"
        case "nvswitch":
            return f"155{index:05d}{slot}{digits}"
        case "nic":
            return f"MT26{index:05d}{slot:02d}{tail}"
        case _:
            return f"S{index:05d}{slot:02d}N{tail}{what[0].upper()}"


def seeded(*what: str | int, length: int) -> str:
    """`length` letters and digits that depend only on `what`; I and O are left out, as makers do."""
    number = int.from_bytes(hashlib.sha256("/".join(map(str, what)).encode()).digest(), "big")
    found = ""
    for _ in range(length):
        number, place = divmod(number, len(ALPHABET))
        found += ALPHABET[place]
    return found
