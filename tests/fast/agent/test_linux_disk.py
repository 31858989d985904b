"""The agent's disk and its zstd: what is written is read back whatever its alignment, and nothing that is no zstd is unpacked."""

import contextlib
import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.agent.disk_content import make_zero
from metalwright.agent.linux_disk import STEP, LinuxDisk
from metalwright.agent.zstd import by_program, unpack

SIZE = STEP + 3 * 4096 + 512


@pytest.mark.parametrize(
    ("offset", "length"), [(0, 4096), (1, 5000), (4096, STEP), (0, SIZE), (SIZE - 512, 512), (512, STEP + 4096), (0, 0)]
)
def test_what_is_written_is_read_back_and_its_neighbours_stay(tmp_path: Path, offset: int, length: int) -> None:
    """Whole blocks past the page cache, the rest through it: one content."""
    path = tmp_path / "disk"
    path.write_bytes(b"\xaa" * SIZE)
    wanted = bytearray(b"\xaa" * SIZE)
    wanted[offset : offset + length] = data = os.urandom(length)
    disk = LinuxDisk(str(path), exclusive=False)
    try:
        disk.write(offset, data)
        disk.flush()
        assert disk.size_bytes == SIZE
        assert disk.read(0, SIZE) == bytes(wanted) == path.read_bytes()
        assert disk.read(SIZE - 100, 4096) == bytes(wanted[-100:])
    finally:
        disk.close()


def test_what_is_discarded_is_zero_and_its_neighbours_stay(tmp_path: Path) -> None:
    """Where the file system punches holes; elsewhere the old bytes are there, which the writer sees."""
    path = tmp_path / "disk"
    path.write_bytes(b"\xaa" * SIZE)
    disk = LinuxDisk(str(path), exclusive=False)
    try:
        disk.discard(8192, 4096)
        assert disk.read(8192, 4096) in (bytes(4096), b"\xaa" * 4096)
        assert disk.read(0, 8192) + disk.read(12288, SIZE) == b"\xaa" * (SIZE - 4096)
        assert make_zero(disk, 4000, 9000) and not make_zero(disk, 4000, 9000)
        assert disk.read(0, SIZE) == b"\xaa" * 4000 + bytes(9000) + b"\xaa" * (SIZE - 13000)
    finally:
        disk.close()


@settings(deadline=None, max_examples=60)
@given(data=st.binary(max_size=3000), cut=st.integers(0, 3000), flip=st.integers(0, 3000))
def test_zstd_gives_the_bytes_or_an_error(data: bytes, cut: int, flip: int) -> None:
    """Whole frames are unpacked; shortened or damaged ones give ValueError or bytes that their digest refuses, never more than wanted."""
    stored = zstandard.ZstdCompressor().compress(data)
    assert unpack(stored, len(data)) == data
    for broken in (stored[: cut % len(stored)], _flipped(stored, flip % len(stored))):
        with contextlib.suppress(ValueError):
            assert len(unpack(broken, len(data))) <= len(data)


def test_the_program_refuses_what_the_library_refuses() -> None:
    """Where libzstd cannot be loaded, the same answers."""
    stored = zstandard.ZstdCompressor().compress(b"x" * 1000)
    assert by_program(stored, 1000) == unpack(stored, 1000) == b"x" * 1000
    for unpacker in (by_program, unpack):
        for bad, length in ((b"no zstd", 100), (stored[:-3], 1000), (stored, 999)):
            with pytest.raises(ValueError, match="zstd"):
                unpacker(bad, length)


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
