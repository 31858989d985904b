"""What is remembered of BMCs between processes: certificate pins and open sessions, one small JSON file per BMC."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metalwright.model.errors import InputError


@dataclass(slots=True, kw_only=True)
class _Known:
    """`{"bmc": url, "pin": pin or null, "sessions": [path, …]}`"""

    pin: str | None = None
    sessions: list[str] = field(default_factory=list)


class BmcMemory:
    """PinStore and SessionLog of the Redfish driver, in a folder of the site's state. Every change is in its file before the call returns.

    Workers on one host share the folder. A change costs one small file, whatever the number of BMCs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)

    def get(self, bmc: str) -> str | None:
        """The pinned certificate of a BMC. InputError when its file is damaged: a pin is never silently forgotten."""
        return self._read(bmc).pin

    def put(self, bmc: str, pin: str) -> None:
        """Remember the first certificate seen."""
        with self._changing(bmc) as known:
            known.pin = pin

    def opened(self, bmc: str, session: str) -> None:
        """A session exists on the BMC: its successor must know, should we die."""
        with self._changing(bmc) as known:
            known.sessions.append(session)

    def left_over(self, bmc: str) -> tuple[str, ...]:
        """Sessions that a former process left open, or another worker that held the machine before."""
        return tuple(self._read(bmc).sessions)

    def closed(self, bmc: str, session: str) -> None:
        """It is gone."""
        with self._changing(bmc) as known:
            known.sessions = [other for other in known.sessions if other != session]

    def _file(self, bmc: str) -> Path:
        return self._folder / f"{hashlib.sha256(bmc.encode()).hexdigest()[:32]}.json"

    def _read(self, bmc: str) -> _Known:
        file = self._file(bmc)
        try:
            found: dict[str, Any] = json.loads(file.read_bytes())
            pin, sessions = found["pin"], found["sessions"]
            if found["bmc"] != bmc or not isinstance(pin, str | None) or not isinstance(sessions, list):
                raise ValueError("not a memory of this BMC")
            return _Known(pin=pin, sessions=[str(session) for session in sessions])
        except FileNotFoundError:
            return _Known()
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = "it holds the pinned certificate: restore it, or delete it and check the certificate of that BMC by hand"
            raise InputError(f"{file}, the memory of {bmc}, cannot be read", hint=hint) from error

    @contextmanager
    def _changing(self, bmc: str) -> Iterator[_Known]:
        """Re-read, change, replace: nothing another process wrote is lost, and a reader sees the old file or the new one."""
        file = self._file(bmc)
        with (self._folder / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self._read(bmc)
            yield known
            scratch = file.with_suffix(".new")
            scratch.write_text(json.dumps({"bmc": bmc, "pin": known.pin, "sessions": known.sessions}))
            os.replace(scratch, file)
