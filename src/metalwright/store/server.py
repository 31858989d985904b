"""PostgreSQL, over psycopg's asynchronous connections. Reads are REPEATABLE READ: all statements of a batch see one moment."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, event, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from metalwright.model.errors import TemporaryError
from metalwright.store.failures import TOO_SLOW, TOO_SLOW_HINT, as_ours
from metalwright.store.settling import settled

T = TypeVar("T")

CONNECTIONS = 4
QUEUE_S = 4.0
"""How long a call waits for a connection of this process."""
CONNECT_S = 3
"""And then for the server to accept a new one."""

DEADLINE_S = 6.0
"""Of one transaction, everything included. Shorter than the shortest sensible lease (8 s): a call that takes longer would end after
another worker has taken the shard."""
NAME, LONG_NAME = "metalwright", "metalwright, a long change"
"""What the server calls our connections. A transaction of the first name that is older than `DEADLINE_S` has nobody behind it."""

SETTINGS = (
    # never weaker than `on`; a stronger setting of the server (`remote_apply`) stays
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')",
    # a frozen worker's locks, its lease row among them, go before its lease ends: or nobody could take over
    "SELECT set_config('idle_in_transaction_session_timeout', '4s', false), set_config('lock_timeout', '5s', false)",
)


class Server:
    """A database that other processes use too."""

    def __init__(self, url: URL) -> None:
        self._writer = _engine(url)
        self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    async def run(self, work: Callable[[Connection], T], *, writes: bool, deadline_s: float) -> T:
        """One transaction. At the deadline its connection is cut; a commit that was under way may or may not have happened."""
        until = asyncio.get_running_loop().time() + deadline_s
        named = _long(work) if deadline_s > DEADLINE_S else work
        return await settled(asyncio.ensure_future(_transact(self._writer if writes else self._reader, named, until)))

    async def close(self) -> None:
        """End every connection."""
        with as_ours():
            await self._writer.dispose()


END_ABANDONED = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user "
    "AND application_name = :name AND xact_start < clock_timestamp() - make_interval(secs => :deadline_s)"
).bindparams(name=NAME, deadline_s=DEADLINE_S)
"""A worker that froze between the statements of a batch is not idle to the server (it waits for the rest of a pipeline), so no timeout
of PostgreSQL before 17 ends it, and its lease row stays locked. Whoever claims leases ends such transactions first."""


def _long(work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """The same, under the other name until its end."""

    def named(connection: Connection) -> T:
        connection.execute(text("SELECT set_config('application_name', :name, true)"), {"name": LONG_NAME})
        return work(connection)

    return named


async def _transact(engine: AsyncEngine, work: Callable[[Connection], T], until: float) -> T:
    with as_ours():
        async with engine.connect() as connection:
            with _cut_at(until, await _socket_of(connection)), as_ours():
                async with connection.begin():
                    return await connection.run_sync(work)


async def _socket_of(connection: AsyncConnection) -> int:
    """Its descriptor."""
    driver: Any = (await connection.get_raw_connection()).driver_connection
    return int(driver.fileno())


@contextmanager
def _cut_at(until: float, descriptor: int) -> Iterator[None]:
    """At the deadline the socket is cut. Cancelling would not do: psycopg then asks the server to stop, for up to ten seconds, and a
    server that hangs does not hear it."""
    was_cut = False

    def cut() -> None:
        nonlocal was_cut
        was_cut = True
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as one_more_handle:  # OSError: it is gone already
            one_more_handle.shutdown(socket.SHUT_RDWR)

    timer = asyncio.get_running_loop().call_at(until, cut)
    try:
        yield
    except TemporaryError as error:
        if was_cut:
            raise TemporaryError(TOO_SLOW, hint=TOO_SLOW_HINT) from error
        raise
    finally:
        timer.cancel()


def _engine(url: URL) -> AsyncEngine:
    arguments = {"connect_timeout": CONNECT_S, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 2}
    engine = create_async_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=CONNECTIONS,
        pool_timeout=QUEUE_S,
        connect_args=arguments | {"application_name": NAME},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def configure(connection: Any, record: object) -> None:
        cursor = connection.cursor()
        for statement in SETTINGS:
            cursor.execute(statement)
        cursor.close()
        connection.commit()

    return engine
