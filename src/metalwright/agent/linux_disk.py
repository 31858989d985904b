"""A block device as the agent writes it: past the page cache where the kernel allows it, so that what is read back is the medium's."""

import contextlib
import errno
import mmap
import os
import threading

ALIGNMENT = 4096
"""Direct I/O wants memory, offset and length in whole logical blocks (open(2), O_DIRECT); no drive's blocks are larger."""
STEP = 4 << 20
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
"""linux/falloc.h"""

_own = threading.local()
"""Direct I/O needs aligned memory: each thread keeps one buffer."""


class LinuxDisk:
    """Opened for itself alone unless it is shared. A plain file may stand in for a device. OSError for whatever goes wrong."""

    def __init__(self, path: str, *, exclusive: bool) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0))
        self._direct = -1
        with contextlib.suppress(OSError):  # a file system without direct I/O: the page cache is dropped before reading instead
            self._direct = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT)
        self.size_bytes = os.lseek(self._fd, 0, os.SEEK_END)

    def write(self, offset: int, data: bytes) -> None:
        """On the medium after the next flush."""
        view = memoryview(data)
        while view:
            piece = view[:STEP]
            written = self._write_direct(offset, piece) if self._is_direct(offset, len(piece)) else os.pwrite(self._fd, piece, offset)
            offset, view = offset + written, view[written:]

    def read(self, offset: int, length: int) -> bytes:
        """Shorter only at the end of the disk."""
        if self._direct < 0:
            os.posix_fadvise(self._fd, offset, length, os.POSIX_FADV_DONTNEED)
        parts = []
        while length > 0 and (part := self._read_piece(offset, min(length, STEP))):
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return b"".join(parts)

    def discard(self, offset: int, length: int) -> None:
        """FALLOC_FL_PUNCH_HOLE: the kernel asks of a drive only what leaves zeros behind (blkdev_fallocate). A refusal changes nothing."""
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes  # noqa: PLC0415  # slow to import under emulation, and only a used disk needs it

            where = (ctypes.c_int64(offset), ctypes.c_int64(length))
            ctypes.CDLL(None).fallocate64(self._fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, *where)

    def flush(self) -> None:
        """The drive's own cache included (fsync(2) of a block device)."""
        os.fsync(self._fd)

    def close(self) -> None:
        os.close(self._fd)
        if self._direct >= 0:
            os.close(self._direct)

    def _is_direct(self, offset: int, length: int) -> bool:
        return self._direct >= 0 and offset % ALIGNMENT == 0 and length % ALIGNMENT == 0

    def _write_direct(self, offset: int, piece: memoryview) -> int:
        with memoryview(_buffer())[: len(piece)] as aligned:
            aligned[:] = piece
            try:
                written = os.pwrite(self._direct, aligned, offset)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                written = -1
        if written % ALIGNMENT:  # larger blocks than ours, or a piece that the rest no longer follows aligned: the other way
            return os.pwrite(self._fd, piece, offset)
        return written

    def _read_piece(self, offset: int, length: int) -> bytes:
        if self._is_direct(offset, length):
            with memoryview(_buffer())[:length] as aligned:
                try:
                    return bytes(aligned[: os.preadv(self._direct, [aligned], offset)])
                except OSError as error:
                    if error.errno != errno.EINVAL:
                        raise
        return os.pread(self._fd, length, offset)


def _buffer() -> mmap.mmap:
    """Pages of this thread's own; mmap(2) gives them aligned."""
    found: mmap.mmap | None = getattr(_own, "buffer", None)
    if found is None:
        found = _own.buffer = mmap.mmap(-1, STEP)
    return found
