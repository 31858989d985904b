"""What is remembered of BMCs between processes: certificate pins and open sessions, one JSON file in the state folder."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from metalwright.model.errors import InputError


class BmcMemory:
    """PinStore and SessionLog of the Redfish driver. Every change is on the disk before the call returns.

    Workers on one host share the file under a lock. Shape: `{"pins": {bmc: pin}, "sessions": {bmc: [path, …]}}`.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._pins, self._sessions = self._load()

    def get(self, bmc: str) -> str | None:
        """The pinned certificate of a BMC."""
        return self._pins.get(bmc)

    def put(self, bmc: str, pin: str) -> None:
        """Remember the first certificate seen."""
        with self._changing():
            self._pins[bmc] = pin

    def opened(self, bmc: str, session: str) -> None:
        """A session exists on the BMC: its successor must know, should we die."""
        with self._changing():
            self._sessions.setdefault(bmc, []).append(session)

    def left_over(self, bmc: str) -> tuple[str, ...]:
        """Sessions that a former process left open, or another worker that held the machine before."""
        self._pins, self._sessions = self._load()
        return tuple(self._sessions.get(bmc, ()))

    def closed(self, bmc: str, session: str) -> None:
        """It is gone."""
        with self._changing():
            left = [other for other in self._sessions.get(bmc, []) if other != session]
            if left:
                self._sessions[bmc] = left
            else:
                self._sessions.pop(bmc, None)

    def _load(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        try:
            known: Mapping[str, Mapping[str, object]] = json.loads(self._file.read_text()) if self._file.exists() else {}
            pins = {str(bmc): str(pin) for bmc, pin in known.get("pins", {}).items()}
            sessions = {
                str(bmc): [str(path) for path in paths] for bmc, paths in known.get("sessions", {}).items() if isinstance(paths, list)
            }
        except (OSError, ValueError, AttributeError) as error:
            hint = "it holds the pinned BMC certificates: restore it, or delete it and check each BMC's certificate by hand"
            raise InputError(f"{self._file} cannot be read", hint=hint) from error
        return pins, sessions

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Re-read, change, replace: nothing another process wrote is lost."""
        with open(self._file.with_suffix(".lock"), "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._pins, self._sessions = self._load()
            yield
            scratch = self._file.with_suffix(".new")
            scratch.write_text(json.dumps({"pins": self._pins, "sessions": self._sessions}))
            os.replace(scratch, self._file)
