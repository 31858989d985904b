"""The database: its address, its engines, and how each of its connections is set up.

Two engines: `read` and `write`. On SQLite they are one writing connection (BEGIN IMMEDIATE, so that a transaction never has to be
upgraded and never deadlocks) and a few that can only read (WAL: they see the last commit and block nobody). On PostgreSQL reads are
REPEATABLE READ, so that all statements of a batch see one moment.
"""

import asyncio
import logging
import sqlite3
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

from sqlalchemy import event, exc, make_url
from sqlalchemy.engine import URL, Connection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from metalwright.model.errors import InputError, InvariantError
from metalwright.store.failures import as_ours
from metalwright.store.transaction import Transaction, transaction

for _library in ("sqlalchemy", "psycopg", "aiosqlite"):
    logging.getLogger(_library).addHandler(logging.NullHandler())  # else what they log of errors goes to stderr, beside our own words

DEADLINE_S = 6.0
"""Of one transaction, everything included. Shorter than the shortest sensible lease (10 s): a call that takes longer would end after
another worker has taken the shard."""
LONG_DEADLINE_S = 300.0
"""Of a migration or the adoption of a new spec: done once by an operator, not inside a turn."""
QUEUE_S = 4.0
"""How long a call waits for a connection of this process."""
CONNECT_S = 3
"""And then for PostgreSQL to accept a new one."""
BUSY_S = 4.0
"""How long SQLite waits for another process's write (a CLI that asks for something) before it gives up."""

SQLITE_SETTINGS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",  # an intent that was committed is on the disk before the act
    f"PRAGMA busy_timeout={int(BUSY_S * 1000)}",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-32768",  # 32 MiB
)

POSTGRESQL_SETTINGS = (
    # never weaker than `on`; a stronger setting of the server (`remote_apply`) stays
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')",
    # a frozen worker's locks, its lease row among them, go before its lease ends: or nobody could take over
    "SELECT set_config('idle_in_transaction_session_timeout', '4s', false), set_config('lock_timeout', '5s', false)",
)


def parse_url(url: str) -> URL:
    """`sqlite:///relative/site.db`, `sqlite:////absolute/site.db` or `postgresql://…` → the URL with the driver used here."""
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError) as error:
        raise InputError("this is not a database address", hint="sqlite:///path/site.db or postgresql://user@host/name") from error
    if parsed.drivername == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed.set(drivername="sqlite+aiosqlite")
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise InputError(
        f"no store for {parsed.render_as_string(hide_password=True)}", hint="sqlite:///path/site.db or postgresql://user@host/name"
    )


class Database:
    """One database. `dialect` is `sqlite` or `postgresql`."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.dialect = url.get_backend_name()
        self._reader: AsyncEngine | None = None
        self._writer: AsyncEngine | None = None

    async def open(self) -> None:
        """Make the engines; they connect at the first call."""
        if self._writer is not None:
            return
        if self.dialect == "sqlite":
            await asyncio.to_thread(_try_file, Path(self.url.database or ""))
            self._writer = _sqlite_engine(self.url, connections=1, begin="BEGIN IMMEDIATE")
            self._reader = _sqlite_engine(self.url, connections=4, begin="BEGIN", setting="PRAGMA query_only=ON")
        else:
            self._writer = _postgresql_engine(self.url)
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    async def close(self) -> None:
        """End every connection."""
        writer, reader, self._writer, self._reader = self._writer, self._reader, None, None
        for engine in (reader, writer):
            if engine is not None:
                with as_ours():
                    await engine.dispose()

    def read(self, deadline_s: float = DEADLINE_S) -> AbstractAsyncContextManager[Transaction]:
        """One reading transaction: every statement in it sees the same moment."""
        return transaction(self._opened(self._reader), deadline_s)

    def write(self, deadline_s: float = DEADLINE_S) -> AbstractAsyncContextManager[Transaction]:
        """One writing transaction: committed when the block ends, gone when it raises."""
        return transaction(self._opened(self._writer), deadline_s)

    def _opened(self, engine: AsyncEngine | None) -> AsyncEngine:
        if engine is None:
            raise InvariantError("the store is not open")
        return engine


def _try_file(path: Path) -> None:
    """Make the folder, and open the file once: an asynchronous connection that cannot be made leaves a thread that complains."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the folder {path.parent}: {error.strerror}"
        raise InputError(message, hint="it must be a folder this user may write to") from error
    with as_ours(), closing(sqlite3.connect(path, timeout=BUSY_S)) as connection:
        connection.execute("PRAGMA schema_version").fetchone()


def _sqlite_engine(url: URL, *, connections: int, begin: str, setting: str = "") -> AsyncEngine:
    engine = create_async_engine(
        url,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=QUEUE_S,
        connect_args={"timeout": BUSY_S},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def configure(connection: Any, record: object) -> None:
        connection.isolation_level = None  # transactions begin where `begin` below says, not where Python's sqlite3 guesses
        cursor = connection.cursor()
        for statement in (*SQLITE_SETTINGS, setting):
            if statement:
                cursor.execute(statement)
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgresql_engine(url: URL) -> AsyncEngine:
    engine = create_async_engine(
        url,
        pool_size=4,
        max_overflow=4,
        pool_timeout=QUEUE_S,
        connect_args={
            "connect_timeout": CONNECT_S,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 2,
            "application_name": "metalwright",
        },
    )

    @event.listens_for(engine.sync_engine, "connect")
    def configure(connection: Any, record: object) -> None:
        cursor = connection.cursor()
        for statement in POSTGRESQL_SETTINGS:
            cursor.execute(statement)
        cursor.close()
        connection.commit()

    return engine
