"""One writer per embedded site: an operating-system lock on the state folder `SITE/.metalwright/`.

The kernel drops the lock when the process ends, however it ends, so there is no stale lock to clean up.
"""

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from metalwright.model.errors import InputError, MachineFault

LOCK_FILE = "writer.lock"


class SiteLock:
    """Hold it for as long as this process writes: `with SiteLock(folder): …`, or `take()` and `release()`.

    `folder` is the state folder (`SITE/.metalwright`), made when absent. Taking twice in one process is refused too.
    """

    def __init__(self, folder: Path | str) -> None:
        self._path = Path(folder) / LOCK_FILE
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """This object holds the lock."""
        return self._descriptor is not None

    def take(self) -> None:
        """InputError when another process writes this site; MachineFault when the folder cannot be locked at all."""
        if self.is_held:
            raise InputError(f"this process already holds {self._path}", hint="one writer per site: use the store that is open")
        descriptor = _open(self._path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise _refusal(self._path, holder, error) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Let the next writer in; nothing happens when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


def _open(path: Path) -> int:
    """The lock file's descriptor; close-on-exec, so that no child of ours keeps the lock alive."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(
            f"cannot use the state folder {path.parent}: {error.strerror}", hint="it must be a folder this user may write to"
        ) from error


def _holder(descriptor: int) -> str:
    """`process 4711`, as the holder wrote it; only for the message, never trusted."""
    text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    return f"process {text}" if text.isdigit() else "another process"


def _refusal(path: Path, holder: str, error: OSError) -> InputError | MachineFault:
    if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
        return InputError(
            f"{holder} is already at work on this site ({path})",
            hint="look with `metalwright status`; wait for the other run to end, or stop it",
        )
    return MachineFault(
        f"the file system of {path} cannot lock files: {error.strerror}",
        hint="keep the state folder on a local file system, or use PostgreSQL",
    )
