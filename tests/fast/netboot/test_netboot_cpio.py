"""The RAM disk's archive: the same bytes for the same content, and readable by others."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.drivers.debian.cpio import CpioEntry, write_cpio

names = st.text(alphabet="abc/.-_", min_size=1, max_size=12)
entries = st.lists(
    st.builds(CpioEntry, name=names, mode=st.just(stat.S_IFREG | 0o644), data=st.binary(max_size=9)), unique_by=lambda each: each.name
)


@given(entries, st.randoms())
def test_order_of_entries_does_not_matter(given_entries: list[CpioEntry], random: object) -> None:
    """Shuffled entries give the same archive, and every record starts on a multiple of four."""
    shuffled = list(given_entries)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    pieces = list(write_cpio(given_entries, 7))
    assert b"".join(write_cpio(shuffled, 7)) == b"".join(pieces)
    assert all(len(piece) % 4 == 0 and piece.startswith(b"070701") for piece in pieces)


def test_cpio_reads_it(tmp_path: Path) -> None:
    """GNU cpio unpacks what we wrote: folder, file with its bytes and mode, link."""
    if shutil.which("cpio") is None:
        pytest.skip("cpio is not installed")
    archive = b"".join(
        write_cpio(
            [
                CpioEntry(name="d/f", mode=stat.S_IFREG | 0o751, data=b"hello"),
                CpioEntry(name="d", mode=stat.S_IFDIR | 0o755),
                CpioEntry(name="d/link", mode=stat.S_IFLNK | 0o777, data=b"f"),
            ],
            0,
        )
    )
    subprocess.run(["cpio", "--extract", "--quiet", "--no-preserve-owner"], input=archive, cwd=tmp_path, check=True)
    assert (tmp_path / "d/link").read_bytes() == b"hello"
    assert stat.S_IMODE((tmp_path / "d/f").stat().st_mode) == 0o751
