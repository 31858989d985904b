"""Foreign errors come out as ours, told apart by who must act."""

import asyncio
import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from metalwright.model.errors import InputError, InvariantError, MachineFault
from metalwright.store import open_store
from tests.conformance.store_site import change, fence_of, hardware, node, opened, order, site_at, statement

A, B = node("a0-0"), node("a0-1")


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


@pytest.mark.parametrize("url", ["", "site.db", "mysql://host/site", "sqlite://", "sqlite:///:memory:", "sqlite+x:///a"])
async def test_an_address_that_is_none_is_the_operators_to_correct(url: str) -> None:
    """InputError, with an example in the hint."""
    with pytest.raises(InputError) as caught:
        async with opened(url):
            pass
    assert "sqlite:///" in caught.value.hint


def test_a_password_in_an_address_is_never_shown() -> None:
    """Not even when the address is refused."""
    with pytest.raises(InputError) as caught:
        open_store("mysql://user:tops3cret@host/site")
    assert "tops3cret" not in str(caught.value)


async def test_a_store_that_is_not_open_says_so() -> None:
    """Our bug, named."""
    with pytest.raises(InvariantError, match="not open"):
        await open_store("sqlite:////tmp/never-made/site.db").size()


async def test_a_folder_that_cannot_be_made_is_the_operators_to_correct(tmp_path: Path) -> None:
    """A file where the state folder should be."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError):
        await open_store(f"sqlite:///{tmp_path}/file/site.db").open()


async def test_a_database_that_cannot_be_opened_is_the_operators_to_correct(tmp_path: Path) -> None:
    """A folder where the database should be."""
    (tmp_path / "site.db").mkdir()
    with pytest.raises(InputError, match="cannot be opened"):
        async with opened(f"sqlite:///{tmp_path}/site.db"):
            pass


async def test_a_file_that_is_no_database_is_left_alone(new_url: str) -> None:
    """InputError, and its bytes are as they were."""
    path = file_of(new_url)
    path.parent.mkdir()
    path.write_bytes(b"my holiday photos" * 1000)
    with pytest.raises(InputError, match="not a SQLite database"):
        async with opened(new_url):
            pass
    assert path.read_bytes() == b"my holiday photos" * 1000


async def test_a_damaged_database_needs_a_person(url: str) -> None:
    """MachineFault that says what to do; never a wrong answer read from garbage."""
    async with site_at(url, nodes=200) as store:
        await store.record([hardware(node(f"a0-{unit}")) for unit in range(200)], None)
    path = file_of(url)
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = random.Random(7).randbytes(len(damaged) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(MachineFault, match="damaged") as caught:
        async with opened(url) as store:
            await store.load([node(f"a0-{unit}") for unit in range(200)])
    assert "backup" in caught.value.hint


async def test_a_database_of_a_newer_program_is_not_touched(url: str) -> None:
    """InputError that names both versions."""
    with closing(sqlite3.connect(file_of(url), isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InputError, match="9999"):
        async with opened(url):
            pass


async def test_an_altered_row_is_told_apart_from_an_empty_one(url: str) -> None:
    """A body that does not read back is an error, never an absent observation."""
    async with site_at(url) as store:
        await store.record([hardware(A)], None)
    with closing(sqlite3.connect(file_of(url), isolation_level=None)) as connection:
        connection.execute("UPDATE bodies SET body = '{\"facts\": 3}'")
    async with opened(url) as store:
        with pytest.raises(InvariantError):
            await store.load([A])
    with closing(sqlite3.connect(file_of(url), isolation_level=None)) as connection:
        connection.execute("DELETE FROM bodies")
    async with opened(url) as store:
        with pytest.raises(InvariantError, match="gone"):
            await store.load([A])


async def test_a_cancelled_commit_is_whole_or_nothing_and_the_store_works_on(url: str) -> None:
    """Cancelled at any moment: both subjects have the order or neither, and the next call succeeds."""
    outcomes: set[bool] = set()
    duration_s = 1.0
    async with site_at(url) as store:
        fence = await fence_of(store)
        parents: list[int | None] = [None, None]
        for turn in range(400):
            first, second = await store.next_order_numbers(2)
            batch = [
                change(A, order=order(first, A, parent=parents[0]), statements=(statement(f"a{turn}", A),)),
                change(B, order=order(second, B, parent=parents[1]), statements=(statement(f"b{turn}", B),)),
            ]
            began = time.monotonic()
            committing = asyncio.create_task(store.commit(batch, fence))
            if turn < 3:  # let these end, to see how long one takes
                await committing
                duration_s = min(duration_s, time.monotonic() - began)
            else:
                await asyncio.sleep(duration_s * 2.0 * (turn % 20) / 20)
                committing.cancel()
            await asyncio.gather(committing, return_exceptions=True)
            loaded = await store.load([A, B])
            written = [rows.order is not None and rows.order.number in (first, second) for rows in loaded]
            assert written[0] == written[1]
            made = {one.key for one in await store.pending(1000)}
            assert ({f"a{turn}", f"b{turn}"} <= made) == written[0]
            parents = [rows.order and rows.order.number for rows in loaded]
            if turn >= 3:
                outcomes.add(written[0])
            if turn > 60 and len(outcomes) == 2:
                break
    assert outcomes == {True, False}, "the moments of cancelling were all before or all after the commit"
