"""Text output of nvbandwidth → `CopyRun`: every cell of every matrix."""

import re

from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.model.run_results import CopyRun
from metalwright.readers.words import word

FORMAT = "nvbandwidth"
RUNNING = re.compile(r"^Running (\w{1,80})\.\s*$", re.M)
SUM = re.compile(r"^SUM (\w{1,80}) (\d{1,9}\.\d{1,4})\s*$", re.M)
ROW = re.compile(r"^\s*\d{1,3}((?:\s+(?:\d{1,9}\.\d{1,4}|N/A))+)\s*$", re.M)
DEVICE = re.compile(r"^Device \d{1,3}: (\S.{0,60}?) \([0-9a-fA-F:.]{7,20}\)\s*$", re.M)
DRIVER = re.compile(r"^Driver Version: (\S{1,20})", re.M)
VERSION = re.compile(r"^nvbandwidth Version: (\S{1,20})", re.M)
ERROR = re.compile(r"^.{0,40}(?:error|failed|invalid value).{0,160}$", re.I | re.M)
TOLERANCE = 0.02
"""Of a sum against its cells, which are printed with two decimals."""


def looks_like(text: str) -> bool:
    return VERSION.search(text) is not None


def read(text: str) -> CopyRun | Unreadable:
    """A test whose matrix does not add up to its sum, or has none, is a gap."""
    starts = list(RUNNING.finditer(text))
    if not starts:
        return Unreadable(reason="no test was run")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    cells: dict[str, tuple[float, ...]] = {}
    gaps: list[Gap] = []
    for match, end in zip(starts, ends, strict=True):
        name, body = match.group(1), text[match.end() : end]
        found = tuple(float(number) for row in ROW.finditer(body) for number in row.group(1).split() if number != "N/A")
        total = SUM.search(body)
        if found and total and total.group(1) == name and abs(sum(found) - float(total.group(2))) <= TOLERANCE * max(len(found), 1):
            cells[name] = found
        else:
            gaps.append(Gap(what=name, why=f"the matrix of {name} does not add up to its sum"))
    version, driver = VERSION.search(text), DRIVER.search(text)
    return CopyRun(
        version=word(version.group(1)) if version else None,
        driver=word(driver.group(1)) if driver else None,
        models=tuple(DEVICE.findall(text)),
        cells=cells,
        errors=tuple(match.group().strip()[:200] for match in list(ERROR.finditer(text))[:8]),
        offers=frozenset(cells),
        gaps=tuple(gaps[:20]),
    )
