"""SQLite on a disk that is full, read-only, or in use by another process."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from metalwright.model.errors import InputError, MachineFault, TemporaryError
from metalwright.store.server import DEADLINE_S
from tests.conformance.store_site import NOW, change, fence_of, hardware, node, opened, order, power, site_at

pytestmark = pytest.mark.real
A = node("a0-0")


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def make_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


async def test_a_full_disk_needs_a_person_and_loses_nothing(tmp_path: Path) -> None:
    """MachineFault; what was committed is still there, and with space again the store goes on."""
    with mounted(tmp_path / "disk", "size=4m") as disk:
        async with site_at(f"sqlite:///{disk}/site.db") as store:
            fence = await fence_of(store, lease_s=3600.0)
            await store.commit([change(A, order=order(1, A))], fence)
            filler = disk / "filler"
            room = os.statvfs(disk)
            filler.write_bytes(b"\0" * (room.f_bavail * room.f_frsize - 100_000))
            with pytest.raises(MachineFault, match="is full") as caught:
                for number in range(200):
                    await store.record([hardware(node(f"x{number}-{unit}")) for unit in range(100)], None)
            assert "free some space" in caught.value.hint
            assert (await store.load([A]))[0].order == order(1, A)
            filler.unlink()
            assert await store.commit([change(A, order=order(2, A, parent=1))], fence) == []


async def test_a_read_only_disk_is_the_operators_to_correct(tmp_path: Path) -> None:
    """InputError that names the rights to check."""
    with mounted(tmp_path / "disk", "size=8m") as disk:
        async with site_at(f"sqlite:///{disk}/site.db"):
            pass
        make_read_only(disk)
        with pytest.raises(InputError) as caught:
            async with opened(f"sqlite:///{disk}/site.db") as store:
                await store.record([power(A)], None)
        assert "rights" in caught.value.hint


async def test_a_database_that_another_process_writes_is_temporary(tmp_path: Path) -> None:
    """Reads go on meanwhile; a write gives up well before a lease ends, and works once the other is done."""
    path = tmp_path / "site.db"
    async with site_at(f"sqlite:///{path}") as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            with pytest.raises(TemporaryError, match="another process"):
                await store.record([power(A)], None)
            assert time.monotonic() - began < DEADLINE_S + 2.0
            assert (await store.load([A]))[0].observations == ()
            other.execute("ROLLBACK")
        await store.record([power(A)], None)
        assert (await store.load([A]))[0].observations[0].seen_at == NOW
