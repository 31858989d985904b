"""Which serials of the packing list belong to which part of one server."""

from collections.abc import Iterable, Sequence

from metalwright.model.spec import NodeSpec, PurchaseLine

_WORDS = (
    ("nvswitch", ("nvswitch",)),
    ("gpu", ("gpu", "h100", "h200", "b200", "b300", "gb200", "a100")),
    ("nic", ("nic", "connectx", "mcx", "bluefield", "hca")),
    ("drive", ("nvme", "ssd", "drive")),
    ("dimm", ("dimm", "ddr")),
    ("cpu", ("xeon", "epyc", "grace", "cpu", "processor")),
    ("psu", ("psu", "power supply")),
)


def lines_of(node: NodeSpec, purchase: Sequence[PurchaseLine]) -> tuple[PurchaseLine, ...]:
    """The lines that name this server as the one they are built into, and its own."""
    return tuple(line for line in purchase if node.serial in {line.node_serial, line.serial})


def of_kind(kind: str, lines: Iterable[PurchaseLine]) -> tuple[PurchaseLine, ...]:
    """Lines with a serial of one kind, in the order of the list; a line without a kind is sorted by the words of its part."""
    return tuple(line for line in lines if line.serial and _kind_of(line) == kind)


def _kind_of(line: PurchaseLine) -> str:
    if line.kind:
        return line.kind
    text = line.part.lower()
    return next((kind for kind, words in _WORDS if any(word in text for word in words)), "system")
