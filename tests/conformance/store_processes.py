"""Starting, watching and ending the processes of `store_worker`: forked from one that has imported everything, so they start at once."""

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.conformance import store_worker

PATIENCE_S = 60.0
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([store_worker.__name__])


class Process:
    """One of them, and what it says."""

    def __init__(self, mode: str, url: str, name: str) -> None:
        self.name = name
        self._lines, far_end = _context.Pipe()
        self._process = _context.Process(target=store_worker.begin, args=(mode, url, name, far_end), daemon=True)
        self._process.start()
        far_end.close()

    def line(self, wanted: Callable[[str], bool], within_s: float = PATIENCE_S) -> str:
        """The next line that fits; what comes before is passed over."""
        until, passed = time.monotonic() + within_s, deque[str](maxlen=12)
        while self._lines.poll(max(0.0, until - time.monotonic())):
            try:
                line: str = self._lines.recv()
            except EOFError:
                raise AssertionError(f"{self.name} ended before it said it") from None
            if wanted(line):
                return line
            passed.append(line)
        raise AssertionError(f"{self.name} did not say it within {within_s:.0f} s, but: {list(passed)}")

    def says(self, words: str, within_s: float = PATIENCE_S) -> str:
        return self.line(lambda line: line.startswith(words), within_s)

    def forget(self) -> None:
        """Lines said so far are passed over."""
        while self._lines.poll():
            self._lines.recv()

    def go(self) -> None:
        self._lines.send("go")

    def signal(self, number: signal.Signals) -> None:
        if self._process.pid is not None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """SIGKILL, also of a frozen process."""
        self._process.kill()
        self._process.join()

    def end(self) -> list[str]:
        """The rest of its lines, once it ended by itself."""
        lines = []
        while self._lines.poll(PATIENCE_S):
            try:
                lines.append(self._lines.recv())
            except EOFError:
                self._process.join(PATIENCE_S)
                assert self._process.exitcode == 0, f"{self.name} failed"
                return lines
        raise AssertionError(f"{self.name} did not end")


@contextmanager
def processes(mode: str, url: str, *names: str) -> Iterator[list[Process]]:
    """Some of them, killed at the end whatever happened."""
    started = [Process(mode, url, name) for name in names]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
