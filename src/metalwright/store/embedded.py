"""SQLite: one thread that writes and a few that read, each transaction one visit to a thread.

The writer begins with BEGIN IMMEDIATE, so that a transaction never has to be upgraded and never deadlocks; WAL lets the readers see the
last commit and block nobody.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import URL

from metalwright.model.errors import InputError, TemporaryError
from metalwright.store.failures import TOO_SLOW, TOO_SLOW_HINT, as_ours
from metalwright.store.settling import looked_at, settled

T = TypeVar("T")

READERS = 3
BUSY_S = 4.0
"""How long SQLite waits for another process's write (a CLI that asks for something) before it gives up: shorter than any deadline."""

SETTINGS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",  # an intent that was committed is on the disk before the act
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-32768",  # 32 MiB
)


class Embedded:
    """A database file of this process's own."""

    def __init__(self, url: URL) -> None:
        _make_folder(Path(url.database or ""))
        self._writer = _engine(url, connections=1, begin="BEGIN IMMEDIATE")
        self._reader = _engine(url, connections=READERS, begin="BEGIN", last_setting="PRAGMA query_only=ON")
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._read_threads = ThreadPoolExecutor(READERS, thread_name_prefix="store-read")

    async def run(self, work: Callable[[Connection], T], *, writes: bool, deadline_s: float) -> T:
        """One transaction, in a thread. At the deadline the caller goes on; what has begun ends by itself, before any later write."""
        threads, engine = (self._write_thread, self._writer) if writes else (self._read_threads, self._reader)
        job = threads.submit(_transact, engine, work)
        under_way = asyncio.wrap_future(job)
        under_way.add_done_callback(looked_at)
        try:
            async with asyncio.timeout(deadline_s):
                return await asyncio.shield(under_way)
        except TimeoutError as error:
            job.cancel()
            raise TemporaryError(TOO_SLOW, hint=TOO_SLOW_HINT) from error
        except asyncio.CancelledError:
            await _ended(job, under_way)
            raise

    async def close(self) -> None:
        """Let what is under way end, then end the threads."""
        for threads, engine in ((self._read_threads, self._reader), (self._write_thread, self._writer)):
            await asyncio.to_thread(threads.shutdown)
            engine.dispose()


async def _ended(job: "Future[T]", under_way: "asyncio.Future[T]") -> None:
    """The job never began, or is over."""
    if not job.cancel():
        await asyncio.wait([asyncio.ensure_future(settled(under_way))])


def _transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    with as_ours(), engine.begin() as connection:
        return work(connection)


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the folder {path.parent}: {error.strerror}"
        raise InputError(message, hint="it must be a folder this user may write to") from error


def _engine(url: URL, *, connections: int, begin: str, last_setting: str = "") -> Engine:
    engine = create_engine(
        url, poolclass=QueuePool, pool_size=connections, max_overflow=0, connect_args={"timeout": BUSY_S, "check_same_thread": False}
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # transactions begin where `begin` below says, not where Python's sqlite3 guesses
        for statement in (*SETTINGS, last_setting):
            connection.execute(statement)

    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
