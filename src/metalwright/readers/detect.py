"""Any text → what it is and what it says. The first format that knows itself reads it; what none knows is unreadable."""

from collections.abc import Callable
from dataclasses import dataclass

from metalwright.model.reading import Facts, Reading, Unreadable
from metalwright.readers.nvidia_smi import columns, failure, plain, xml
from metalwright.readers.words import MAX_BYTES, decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One shape of text."""

    name: str
    looks_like: Callable[[str], bool]
    read: Callable[[str], Facts | Unreadable]


FORMATS: tuple[Format, ...] = tuple(
    Format(name=module.FORMAT, looks_like=module.looks_like, read=module.read) for module in (xml, plain, columns, failure)
)
"""From the most telling shape to the least."""


def read_bytes(raw: bytes, where: str = "") -> Reading:
    """One piece of text, of any size and content."""
    if len(raw) > MAX_BYTES:
        return _unknown(f"larger than {MAX_BYTES // 1024 // 1024} MiB: cut out the part that matters", where)
    text = decoded(raw)
    if not text.strip():
        return _unknown("empty", where)
    found = next((each for each in FORMATS if each.looks_like(text)), None)
    if found is None:
        return _unknown("no known format", where)
    return Reading(format=found.name, content=found.read(text), where=where)


def _unknown(reason: str, where: str) -> Reading:
    return Reading(format="unknown", content=Unreadable(reason=reason), where=where)


def read_pieces(raw: bytes, where: str = "") -> tuple[Reading, ...]:
    """A file with one piece."""
    return (read_bytes(raw, where),)
