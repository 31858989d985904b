"""Any text → what it is and what it says. The first format that knows itself reads it; what none knows is unreadable."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from metalwright.model.reading import Facts, Reading, Skipped, Unreadable
from metalwright.readers import amd_smi, dcgm_diag, ethtool, kernel_log, lspci, nccl_tests, nccl_topology, nvbandwidth, nvme_smart, nvml
from metalwright.readers.nvidia_smi import columns, failure, nvlink, plain, table, topo, xml
from metalwright.readers.session import is_read, pieces
from metalwright.readers.words import MAX_BYTES, decoded

MAX_PIECES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One shape of text."""

    name: str
    looks_like: Callable[[str], bool]
    read: Callable[[str], Facts | Unreadable]


MODULES = (
    xml,
    nccl_topology,
    dcgm_diag,
    nvml,
    amd_smi,
    nvme_smart,
    plain,
    table,
    topo,
    nvlink,
    nvbandwidth,
    nccl_tests,
    lspci,
    ethtool,
    kernel_log,
    columns,
    failure,
)
FORMATS: tuple[Format, ...] = tuple(Format(name=each.FORMAT, looks_like=each.looks_like, read=each.read) for each in MODULES)
"""From the most telling shape to the least."""


def read_bytes(raw: bytes, where: str = "") -> tuple[Reading, ...]:
    """A file, or a session of commands and their outputs: one reading per piece that matters, never none."""
    if len(raw) > MAX_BYTES:
        return (_unknown(f"larger than {MAX_BYTES // 1024 // 1024} MiB: cut out the part that matters", where),)
    found = list(pieces(decoded(raw)))
    if len(found) == 1:
        return (_read(found[0][1], where),)
    readings: list[Reading] = []
    skipped: list[str] = []
    seen: Counter[str] = Counter()
    for command, text in found[:MAX_PIECES]:
        short = command[:48] + ("…" if len(command) > 48 else "")
        seen[short] += 1
        reading = _read(text, f"{where}: {short or 'before the first command'}" + (f" ({seen[short]})" if seen[short] > 1 else ""))
        if isinstance(reading.content, Unreadable) and not is_read(command):
            skipped.append(short or "lines before the first command")
        else:
            readings.append(reading)
    if len(found) > MAX_PIECES:
        readings.append(_unknown(f"more than {MAX_PIECES} commands: cut out the part that matters", where))
    if skipped:
        readings.append(Reading(format="other commands", content=Skipped(commands=tuple(skipped)), where=where))
    return tuple(readings)


def _read(text: str, where: str) -> Reading:
    if not text.strip():
        return _unknown("empty", where)
    found = next((each for each in FORMATS if each.looks_like(text)), None)
    if found is None:
        return _unknown("no known format", where)
    return Reading(format=found.name, content=found.read(text), where=where)


def _unknown(reason: str, where: str) -> Reading:
    return Reading(format="unknown", content=Unreadable(reason=reason), where=where)
