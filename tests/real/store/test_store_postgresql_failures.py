"""PostgreSQL that refuses, restarts, hangs or fails over: sorted errors in bounded time, and the next call works."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest
from sqlalchemy import Connection, text

from metalwright.model.errors import InputError, MachineFault, TemporaryError
from metalwright.model.ids import WorkerId
from metalwright.store.database import LONG_DEADLINE_S, Database, parse_url
from metalwright.store.server import DEADLINE_S, LONG_NAME, NAME
from tests.conformance.store_processes import processes
from tests.conformance.store_site import change, fence_of, hardware, node, opened, order, power, site_at
from tests.real.store.conftest import Server
from tests.real.store.test_store_processes import check_batches

pytestmark = pytest.mark.real
A = node("a0-0")
T = TypeVar("T")


async def until_it_works(call: Callable[[], Awaitable[T]]) -> T:
    """As the loop does: a TemporaryError is tried again. The test's time limit ends what never works."""
    while True:
        try:
            return await call()
        except TemporaryError:
            await asyncio.sleep(0.05)


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Every process of the server stopped: it accepts connections, as the kernel does that for it, and never answers."""
    pids = server.pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def test_a_server_that_is_not_there_is_temporary(server: Server) -> None:
    """Nobody listens: the loop tries again."""
    with pytest.raises(TemporaryError) as caught:
        async with opened("postgresql://metalwright:tops3cret@127.0.0.1:1/site"):
            pass
    assert "tops3cret" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(
    ("user", "database", "words"), [("metalwright", "nowhere", "no such database"), ("nobody", "postgres", "refuses this user")]
)
async def test_a_wrong_address_is_the_operators_to_correct(server: Server, user: str, database: str, words: str) -> None:
    """InputError with what to do."""
    with pytest.raises(InputError, match=words) as caught:
        async with opened(f"postgresql://{user}@127.0.0.1:{server.port}/{database}"):
            pass
    assert caught.value.hint


async def test_a_user_without_rights_is_the_operators_to_correct(server: Server, new_url: str) -> None:
    """InputError when the tables cannot be made."""
    server.administer("DROP ROLE IF EXISTS guest")
    server.administer("CREATE ROLE guest LOGIN")
    with pytest.raises(InputError, match="may not do that"):
        async with opened(new_url.replace("metalwright@", "guest@")):
            pass


async def test_a_restarted_server_costs_one_call(server: Server, new_url: str) -> None:
    """What was in use fails as temporary; then the store reconnects by itself and has everything that was committed."""
    async with site_at(new_url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A))], fence)
        server.stop("immediate")
        try:
            with pytest.raises(TemporaryError):
                await store.load([A])
        finally:
            server.start()
        assert (await until_it_works(lambda: store.load([A])))[0].order == order(1, A)
        assert await until_it_works(lambda: store.commit([change(A, order=order(2, A, parent=1))], fence)) == []


async def test_a_hint_arrives_after_a_restart_too(server: Server, new_url: str) -> None:
    """Whoever listens reconnects by itself."""
    async with site_at(new_url) as store:
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in store.changes():
                heard.set()

        listening = asyncio.create_task(listen())
        try:
            for restart in (False, True):
                if restart:
                    server.stop("fast")
                    server.start()
                heard.clear()
                while not heard.is_set():
                    await until_it_works(lambda: store.record([power(A)], None))
                    await asyncio.sleep(0.05)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


async def test_a_server_that_hangs_is_given_up_before_the_lease_ends(server: Server, new_url: str) -> None:
    """Every call has a hard deadline, also one that waits for an answer that never comes."""
    async with site_at(new_url) as store:
        fence = await fence_of(store)
        with frozen(server):
            for call in (lambda: store.load([A]), lambda: store.claim(WorkerId("w1"), 10.0), lambda: store.record([power(A)], fence)):
                began = time.monotonic()
                with pytest.raises(TemporaryError):
                    await call()
                assert time.monotonic() - began < DEADLINE_S + 2.0
        assert (await until_it_works(lambda: store.load([A])))[0].observations == ()


async def test_a_failover_is_temporary(server: Server, new_url: str) -> None:
    """A standby reads and refuses to write; once it is promoted, the same store goes on."""
    async with site_at(new_url) as store:
        fence = await fence_of(store, lease_s=3600.0)
        await store.commit([change(A, order=order(1, A))], fence)
        server.stop("fast")
        server.become_standby()
        server.start()
        assert (await until_it_works(lambda: store.load([A])))[0].order == order(1, A)
        for _ in range(2):
            with pytest.raises(TemporaryError):
                await store.commit([change(A, order=order(2, A, parent=1))], fence)
        server.control("promote")
        assert await until_it_works(lambda: store.commit([change(A, order=order(2, A, parent=1))], fence)) == []


async def test_a_worker_frozen_inside_a_transaction_does_not_keep_its_lease(new_url: str) -> None:
    """Its locks are dropped by the server before its lease ends, so that the next worker can take over in time."""
    async with site_at(new_url) as store:
        began = time.monotonic()
        with processes("sleeper", new_url, "w1") as (sleeper,):
            sleeper.says("inside")
            while not (taken := await until_it_works(lambda: store.claim(WorkerId("w2"), 60.0))):
                await asyncio.sleep(0.05)
            assert time.monotonic() - began < 10.0
            assert {one.epoch for one in taken} == {2}
            sleeper.go()
            assert sleeper.says("refused") == "refused TemporaryError"
        assert (await store.load([A]))[0].order is None


async def test_a_worker_frozen_inside_a_batch_does_not_keep_its_lease(new_url: str) -> None:
    """A pipeline that was never ended is not idle to the server: whoever claims next ends it and takes over in time. A long change, as
    the adoption of a spec, is not taken for an abandoned one."""
    lock = "UPDATE leases SET epoch = epoch WHERE shard = 'r0' RETURNING shard"
    async with site_at(new_url) as store:
        await store.claim(WorkerId("w1"), 1.0)
        began = time.monotonic()
        with psycopg.connect(new_url, application_name=NAME) as stuck, psycopg.connect(new_url, application_name=LONG_NAME) as long:
            long.execute("SELECT 1")
            with suppress(psycopg.OperationalError), stuck.pipeline():
                assert stuck.execute(lock).fetchone() == ("r0",)
                while not any(one.shard == "r0" for one in await until_it_works(lambda: store.claim(WorkerId("w2"), 60.0))):
                    await asyncio.sleep(0.05)
                assert time.monotonic() - began < 10.0
                with pytest.raises(psycopg.OperationalError):
                    stuck.execute("SELECT 1").fetchone()
            assert long.execute("SELECT 1").fetchone() == (1,)


async def test_a_long_change_has_a_name_of_its_own(new_url: str) -> None:
    """For as long as it takes."""
    database = Database(parse_url(new_url))
    database.open()
    names = [await database.write(_name_of, deadline_s) for deadline_s in (LONG_DEADLINE_S, DEADLINE_S)]
    await database.close()
    assert names == [LONG_NAME, NAME]


def _name_of(connection: Connection) -> str:
    return str(connection.execute(text("SHOW application_name")).scalar_one())


async def test_a_server_killed_while_it_commits_leaves_no_half_batch(server: Server, new_url: str) -> None:
    """Stopped without warning in the midst of commits, five times: after its recovery each batch is there whole, or not at all."""
    nodes, seen = 12, 0
    async with site_at(new_url, nodes=nodes):
        pass
    for _ in range(5):
        with processes("committer", new_url, "w") as (client,):
            client.says("ready")
            for _ in range(2):
                client.says("committed")
            server.stop("immediate")
            server.start()
            client.says("temporary")
        async with opened(new_url) as store:
            await store.release(WorkerId("w"))
            seen = await check_batches(store, nodes, at_least=seen + 1)


async def test_a_full_disk_of_the_server_needs_a_person(server: Server, new_url: str) -> None:
    """MachineFault that says where to free space; what was committed stays."""
    disk = Path(f"{server.folder}/small")
    with server.small_disk(disk, mebibytes=24):
        name = new_url.rpartition("/")[2]
        server.administer(f"CREATE TABLESPACE small LOCATION '{disk}/space'")
        try:
            async with site_at(new_url) as store:
                fence = await fence_of(store)
                await store.commit([change(A, order=order(1, A))], fence)
            server.administer(f"ALTER DATABASE {name} SET TABLESPACE small")
            (disk / "filler").write_bytes(b"\0" * max(0, _free_bytes(disk) - 2**20))
            async with opened(new_url) as store:
                with pytest.raises(MachineFault, match="disk of the database server is full"):
                    for number in range(400):
                        await store.record([hardware(node(f"x{number}-{unit}")) for unit in range(100)], None)
                assert (await store.load([A]))[0].order == order(1, A)
        finally:
            server.administer(f"ALTER DATABASE {name} SET TABLESPACE pg_default")
            server.administer("DROP TABLESPACE small")


def _free_bytes(disk: Path) -> int:
    room = os.statvfs(disk)
    return room.f_bavail * room.f_frsize
