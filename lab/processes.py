"""Processes of an earlier run, found again by pid and start time, so that cleaning up never hits a stranger.

A pid alone is not an identity: it is reused. With the start time (field 22 of /proc/PID/stat, proc(5)) it is.
"""

import json
import os
import signal
import time
from pathlib import Path

STOP_WITHIN_S = 10.0


class ProcessBook:
    """One file with the processes that this lab has started; written before anything depends on them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, pid: int) -> None:
        """Remember a process that is running now; those that have ended are forgotten."""
        known = {**self._read(), pid: start_time(pid)}
        self._write({each: started for each, started in known.items() if started and start_time(each) == started})

    def stop_all(self) -> int:
        """SIGKILL whatever of it still runs, wait until it is gone; returns how many there were."""
        running = {pid: started for pid, started in self._read().items() if started and start_time(pid) == started}
        for pid in running:
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
        _wait_until_gone(running)
        self._write({})
        return len(running)

    def _read(self) -> dict[int, str]:
        try:
            raw = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return {int(pid): str(started) for pid, started in raw.items() if str(pid).isdigit()}

    def _write(self, known: dict[int, str]) -> None:
        partial = self._path.with_suffix(".new")
        partial.write_text(json.dumps({str(pid): started for pid, started in known.items()}))
        partial.rename(self._path)


def start_time(pid: int) -> str:
    """Clock ticks since boot at which the process started; empty when there is no such process, or only its zombie."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if after_name[0] in "ZX" else after_name[19]


def _wait_until_gone(running: dict[int, str]) -> None:
    deadline = time.monotonic() + STOP_WITHIN_S
    while time.monotonic() < deadline and any(start_time(pid) == started for pid, started in running.items()):
        time.sleep(0.02)
