"""What really happened to one simulated machine, whoever asked for it: the record that tests compare the loop's own words with.

One JSON object a line in `nodes/<name>/diary.jsonl`, appended: `at` (seconds since the epoch), `did` (`start`, `stop`, `cut`, `write`),
and for a write `disk`, `offset`, `length`.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAME = "diary.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing that happened. `disk`, `offset` and `length` belong to a write."""

    at: float
    did: str
    disk: str = ""
    offset: int = 0
    length: int = 0


class Diary:
    """Written from any thread: each line is one append. Survives the simulator."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / NAME
        folder.mkdir(parents=True, exist_ok=True)

    def note(self, did: str, **more: str | int) -> None:
        """Append one deed, now."""
        line = json.dumps({"at": round(time.time(), 6), "did": did, **more}) + "\n"
        with self._file.open("ab", buffering=0) as file:
            file.write(line.encode())


def read_diary(folder: Path) -> Iterator[Deed]:
    """Every deed of a machine, oldest first; `folder` is `STATE/nodes/<name>`. A line that a killed simulator left half is left out."""
    file = folder / NAME
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            yield Deed(**json.loads(line))
        except (ValueError, TypeError):
            continue
