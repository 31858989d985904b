"""Which serials of the packing list belong to which part of one server."""

from collections.abc import Iterable, Mapping, Sequence

from metalwright.model.spec import PurchaseLine

_WORDS = (
    ("nvswitch", ("nvswitch",)),
    ("gpu", ("gpu", "h100", "h200", "b200", "b300", "gb200", "a100")),
    ("nic", ("nic", "connectx", "mcx", "bluefield", "hca")),
    ("drive", ("nvme", "ssd", "drive")),
    ("dimm", ("dimm", "ddr")),
    ("cpu", ("xeon", "epyc", "grace", "cpu", "processor")),
    ("psu", ("psu", "power supply")),
)


def by_server(purchase: Sequence[PurchaseLine]) -> Mapping[str, tuple[PurchaseLine, ...]]:
    """System serial → the lines that name this server as the one they are built into, and its own; one pass over the list."""
    found: dict[str, list[PurchaseLine]] = {}
    for line in purchase:
        server = line.node_serial or line.serial
        if server is not None:
            found.setdefault(server, []).append(line)
    return {server: tuple(lines) for server, lines in found.items()}


def of_kind(kind: str, lines: Iterable[PurchaseLine]) -> tuple[PurchaseLine, ...]:
    """Parts inside with a serial of one kind, in the order of the list; one without a kind is sorted by the words of its part."""
    return tuple(line for line in lines if line.node_serial and line.serial and _kind_of(line) == kind)


def _kind_of(line: PurchaseLine) -> str:
    if line.kind:
        return line.kind
    text = line.part.lower()
    return next((kind for kind, words in _WORDS if any(word in text for word in words)), "system")
