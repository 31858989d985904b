"""Files that are replaced in one step: a reader sees the old one or the new one, also after a power cut."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_whole(file: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file, on the disk before this returns."""
    with whole_file(file, mode=mode) as out:
        out.write(data)


@contextmanager
def whole_file(file: Path, *, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A new file that takes the name at the end of the block; after an exception in the block, the old one stays.

    OSError names the file that was wanted.
    """
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.replace(scratch, file)
    except BaseException as error:
        scratch.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:
            raise OSError(error.errno, error.strerror, str(file)) from error
        raise
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
