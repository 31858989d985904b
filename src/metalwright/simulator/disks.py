"""Simulated disks: one sparse file each in the state folder, with a write cache that a power cut loses, as real ones do."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from metalwright.model.errors import TemporaryError

_CACHE_LIMIT = 64 << 20
"""A drive may write back when it likes; past this much it does."""
_CHUNK = 1 << 20


class SimulatedDisk:
    """`ports.DiskPort`. Called from threads; `cut_power` may come from another thread at any moment.

    Data becomes durable on `flush`. Reads see what was written. The file appears with the first write and stays sparse.
    """

    def __init__(
        self,
        path: Path,
        size_bytes: int,
        *,
        write_bytes_per_s: float = 0.0,
        on_write: Callable[[int, int], None] = lambda offset, length: None,
    ) -> None:
        self.size_bytes = size_bytes
        self._path = path
        self._rate = write_bytes_per_s
        self._on_write = on_write
        self._cache: list[tuple[int, bytes]] = []
        self._cached = 0
        self._is_dead = False
        self._lock = threading.Lock()

    def write(self, offset: int, data: bytes) -> None:
        """Into the cache. TemporaryError once the power is cut; ValueError outside the disk."""
        self._check_range(offset, len(data))
        if self._rate > 0:
            time.sleep(len(data) / self._rate)
        self._check_alive()  # what the power cut caught under way was never written
        self._on_write(offset, len(data))
        with self._lock:
            self._check_alive()
            self._cache.append((offset, bytes(data)))
            self._cached += len(data)
            if self._cached > _CACHE_LIMIT:
                self._write_back()

    def read(self, offset: int, length: int) -> bytes:
        """Zeros where nothing was ever written."""
        self._check_range(offset, length)
        with self._lock:
            self._check_alive()
            self._write_back()
        return read_file(self._path, offset, length)

    def discard(self, offset: int, length: int) -> None:
        """A drive that cannot: the old bytes stay."""
        self._check_range(offset, length)

    def flush(self) -> None:
        """After this the data survives a power cut."""
        with self._lock:
            self._check_alive()
            self._write_back()

    def close(self) -> None:
        """Like a program that ends without a flush while the machine stays on: the drive keeps its cache."""
        with self._lock:
            if not self._is_dead:
                self._write_back()

    def cut_power(self) -> None:
        """What was not flushed is lost; every later call fails."""
        with self._lock:
            self._is_dead = True
            self._cache.clear()

    def _check_alive(self) -> None:
        if self._is_dead:
            raise TemporaryError("the machine lost power", hint="a simulated power cut")

    def _check_range(self, offset: int, length: int) -> None:
        if offset < 0 or length < 0 or offset + length > self.size_bytes:
            raise ValueError(f"{length} bytes at {offset} are outside a disk of {self.size_bytes} bytes")

    def _write_back(self) -> None:
        if not self._cache:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        mode = "r+b" if self._path.exists() else "w+b"
        with self._path.open(mode) as file:
            for offset, data in self._cache:
                _write_sparse(file.fileno(), offset, data)
        self._cache.clear()
        self._cached = 0


def read_file(path: Path, offset: int, length: int) -> bytes:
    """Bytes of a disk file; the part past its end, or all of it when there is no file, is zeros."""
    if not path.exists():
        return bytes(length)
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(length).ljust(length, b"\0")


def _write_sparse(descriptor: int, offset: int, data: bytes) -> None:
    """All-zero chunks beyond the end of the file are left as holes."""
    end = os.fstat(descriptor).st_size
    for at in range(0, len(data), _CHUNK):
        chunk = data[at : at + _CHUNK]
        if offset + at >= end and not chunk.strip(b"\0"):
            continue
        os.pwrite(descriptor, chunk, offset + at)


def alter_disk(path: Path, below: int) -> None:
    """Change 64 bytes in the middle of every written stretch below an offset: silent, and never undone by doing it again."""
    for start, end in list(_stretches(path, below)):
        middle = (start + end) // 2
        with path.open("r+b") as file:
            file.seek(middle)
            old = file.read(min(64, end - middle))
            file.seek(middle)
            file.write(bytes((byte + 1) % 256 for byte in old))


def _stretches(path: Path, limit: int) -> Iterator[tuple[int, int]]:
    """Where the sparse file holds data, up to `limit`."""
    if not path.exists():
        return
    with path.open("rb") as file:
        at, size = 0, min(limit, os.fstat(file.fileno()).st_size)
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # ENXIO: no data from here on
                return
            at = min(os.lseek(file.fileno(), start, os.SEEK_HOLE), size)
            if start < at:
                yield start, at
