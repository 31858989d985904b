"""`nvidia-smi --query-gpu=… --format=csv` → `GpuReport`. What was not asked for is not in the file, and nothing is held against that."""

import csv
import re

from metalwright.model.gpu_state import GpuReport
from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.readers.gpu_facts import report
from metalwright.readers.nvidia_smi.aliases import NVIDIA
from metalwright.readers.words import natural, word

FORMAT = "nvidia-smi --query-gpu"
COLUMN = re.compile(r"[a-z][a-z0-9_.]{1,80}(?: \[[^\]]{1,12}\])?$", re.I)
SURE = frozenset(
    (
        "uuid",
        "gpu_uuid",
        "name",
        "driver_version",
        "serial",
        "pci.bus_id",
        "memory.total",
        "pstate",
        "utilization.gpu",
        "vbios_version",
        "index",
    )
)
"""A header with two of these names is one of nvidia-smi's."""
ROW = re.compile(r"unable to determine|is lost|fallen off|no devices were found", re.I)


def looks_like(text: str) -> bool:
    names = _names(_first_line(text))
    return len(names) > 1 and len(SURE.intersection(names)) > 1 and all(COLUMN.match(name) for name in names)


def read(text: str) -> GpuReport | Unreadable:
    """A header and one row per GPU; a row of another length is a gap."""
    head, *rest = [line for line in text.strip().splitlines() if line.strip()]
    names = _names(head)
    rows = [next(csv.reader([line], skipinitialspace=True), []) for line in rest if not ROW.search(line)]
    whole = [dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)]
    gaps = () if len(whole) == len(rows) else (Gap(what="gpus", why=f"{len(rows) - len(whole)} rows do not fit the header"),)
    first = whole[0] if whole else {}
    return report(
        whole,
        NVIDIA,
        driver=word(first.get("driver_version", "")),
        attached=natural(first.get("count", "")),
        around=text,
        offers=_facts(frozenset(names)),
        gaps=gaps,
    )


def _facts(names: frozenset[str]) -> frozenset[str]:
    """What was asked for: a fact, or all its parts."""
    direct = {fact for fact, source in NVIDIA.facts.items() if names.intersection(source.paths)}
    parted = {fact for fact, parts in NVIDIA.parts.items() if all(names.intersection(part.paths) for part in parts)}
    return frozenset(direct | parted)


def _names(line: str) -> list[str]:
    return [re.sub(r" \[.{1,12}\]$", "", name.strip()).lower() for name in line.split(",")]


def _first_line(text: str) -> str:
    return next((line for line in text[:100_000].splitlines() if line.strip()), "")
