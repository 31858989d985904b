"""`metalwright apply` as a process of its own, to be killed, frozen and waited for."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.kit.simulated_site import METALWRIGHT, wait_until


class Apply:
    """One process. `words` are further arguments of the command line."""

    def __init__(self, site: Path, *words: str, environment: Mapping[str, str] | None = None, output: Path | None = None) -> None:
        self.output = output or site / "apply.txt"
        with self.output.open("ab") as out:
            command = [*METALWRIGHT, "-v", "apply", str(site), *words]
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=dict(environment or os.environ))

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def ends(self, within_s: float) -> int:
        """Its exit code."""
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"apply goes on after {within_s:.0f} s:\n{self.tail()}") from error

    def kill_when(self, what: str, is_so: Callable[[], bool], within_s: float = 60.0) -> None:
        """kill -9 as soon as it is so."""
        wait_until(what, lambda: is_so() or not self.is_running, within_s)
        assert self.is_running, f"apply ended before {what}:\n{self.tail()}"
        self.kill()

    def kill(self) -> None:
        if self.is_running:
            self._process.kill()
        self._process.wait(30)

    def interrupted(self, within_s: float = 30.0) -> int:
        """Its exit code after Ctrl-C."""
        self._process.send_signal(signal.SIGINT)
        return self.ends(within_s)

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def tail(self) -> str:
        return "\n".join(self.output.read_text().splitlines()[-30:])
