"""Text of nccl-tests and rccl-tests → `CollectiveRun`. Older builds print `error`, newer `#wrong` and `root`; mpirun prefixes lines."""

import re
from collections import Counter

from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.model.run_results import CollectiveRun, SizeResult

FORMAT = "nccl-tests"
PREFIX = re.compile(r"^\[\d{1,6},\d{1,6}\]<std(?:out|err)>:\s?|^\d{1,6}: ")
HEAD = re.compile(r"#\s+size\s+count(?:\s+type)?")
RANK = re.compile(r"#\s+Rank\s+\d{1,6}\s.{0,60}? on\s+(\S{1,64}) device\s+\d{1,3} \[[^\]]{1,20}\] (\S.{0,60}?)\s*$")
TEST = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|sendrecv|gather|scatter|hypercube)_perf\b")
OUT_OF_BOUNDS = re.compile(r"# Out of bounds values : (\d{1,12})")
ALGORITHM = re.compile(r"NCCL_ALGO(?: set by environment to |=)\s?(\w{1,20})")
AVERAGE = "# Avg bus bandwidth"
ROW = re.compile(r"^\s*\d{1,15}\s+\d{1,15}\s+\w{1,12}\s")
COLUMNS = 8
"""The last columns of a row: time, algorithm bandwidth, bus bandwidth and errors, out of place and in place."""


def looks_like(text: str) -> bool:
    return HEAD.search(text) is not None and "busbw" in text


def read(text: str) -> CollectiveRun | Unreadable:
    """Every row; a row that does not fit, and a run without its last line, are gaps."""
    lines = [PREFIX.sub("", line[:500]) for line in text.splitlines()]
    rows = [line.split() for line in lines if ROW.match(line)]
    sizes = [size for row in rows if (size := _size(row)) is not None]
    gaps = [Gap(what="sizes", why=f"{len(rows) - len(sizes)} rows are not understood")] if len(sizes) < len(rows) else []
    if AVERAGE not in text:
        gaps.append(Gap(what="sizes", why="the run did not come to its end"))
    if not sizes:
        return Unreadable(reason="the table holds no row that can be read")
    ranks = [match for line in lines if (match := RANK.search(line))]
    models = Counter(match.group(2) for match in ranks)
    bounds = OUT_OF_BOUNDS.search(text)
    forced = ALGORITHM.search(text)
    return CollectiveRun(
        operation=_operation(text, rows, len(ranks)),
        algorithm=forced.group(1).lower() if forced else "any",
        ranks=len(ranks),
        hosts=len({match.group(1) for match in ranks}),
        model=models.most_common(1)[0][0] if models else None,
        sizes=tuple(sizes),
        out_of_bounds=int(bounds.group(1)) if bounds else None,
        offers=frozenset(("bandwidth", "wrong") if any(size.wrong is not None for size in sizes) else ("bandwidth",)),
        gaps=tuple(gaps),
    )


def _size(row: list[str]) -> SizeResult | None:
    cells = row[-COLUMNS:]
    try:
        bandwidths = float(cells[2]), float(cells[6])
    except (ValueError, IndexError):
        return None
    wrong = [int(text) for text in (cells[3], cells[7]) if text.isdecimal() and len(text) < 16]
    if len(row) <= COLUMNS or not all(0 <= value < 1e9 for value in bandwidths):
        return None
    found = sum(wrong) if len(wrong) == 2 else None
    return SizeResult(size=int(row[0]), out_of_place=bandwidths[0], in_place=bandwidths[1], wrong=found)


def _operation(text: str, rows: list[list[str]], ranks: int) -> str:
    """By the program's name; else by the ratio of bus to algorithm bandwidth, which is 2(n-1)/n for all-reduce alone."""
    named = TEST.search(text)
    if named:
        return named.group(1)
    try:
        ratio = float(rows[-1][-6]) / float(rows[-1][-7])
    except (ValueError, IndexError, ZeroDivisionError):
        return ""
    return "all_reduce" if ranks > 2 and abs(ratio - 2 * (ranks - 1) / ranks) < 0.02 else ""
