"""A cpio archive in the kernel's "newc" format, the same bytes for the same entries.

Format: Linux kernel, Documentation/driver-api/early-userspace/buffer-format.rst. Owner, links, inode numbers and times are fixed here:
an initial RAM disk needs none of them, and they are what differs from build to build.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAGIC = b"070701"
TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpioEntry:
    """One entry: `name` relative without a leading slash, `mode` with the file-type bits of stat(2), `rdev` of a device node."""

    name: str
    mode: int
    data: bytes = b""
    rdev: tuple[int, int] = (0, 0)


def write_cpio(entries: Iterable[CpioEntry], mtime: int) -> Iterator[bytes]:
    """The archive piece by piece. Entries are sorted by name, so a directory comes before what it holds."""
    for number, entry in enumerate(sorted(entries, key=lambda each: each.name), start=1):
        yield _record(entry, number, mtime)
    yield _record(CpioEntry(name=TRAILER, mode=0), 0, 0)


def _record(entry: CpioEntry, inode: int, mtime: int) -> bytes:
    name = entry.name.encode() + b"\0"
    nlink, owner, group, checksum = 1, 0, 0, 0
    fields = (
        inode, entry.mode, owner, group, nlink, mtime, len(entry.data), 0, 0, entry.rdev[0], entry.rdev[1], len(name), checksum
    )  # fmt: skip
    header = MAGIC + b"".join(b"%08X" % value for value in fields)
    return _padded(header + name) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
