"""Transactions. One holds nothing but the database: nobody awaits anything else inside one.

A statement that was sent is waited for, whatever happens to the waiting task. Otherwise a cancelled task (a timeout, a shutdown)
would leave SQLite's thread to begin a transaction that nobody ends, and the site locked; psycopg would ask a server that may hang to
stop, up to ten seconds long. Cancelling therefore takes effect between statements, and rolls back.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql.base import Executable

from metalwright.model.errors import TemporaryError
from metalwright.store.failures import TOO_SLOW, TOO_SLOW_HINT, as_ours

T = TypeVar("T")
Values = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Transaction:
    """What parts of the store do inside one. `dialect` is `sqlite` or `postgresql`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.dialect = connection.dialect.name

    async def execute(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        """Run it; once per row of `values`, in one go, when that is a list."""
        return await _unbroken(self._connection.execute(statement, values))

    async def run_sync(self, work: Callable[[Connection], T]) -> T:
        """For what knows only synchronous connections (Alembic)."""
        return await _unbroken(self._connection.run_sync(work))


@asynccontextmanager
async def transaction(engine: AsyncEngine, deadline_s: float) -> AsyncIterator[Transaction]:
    """Committed when the block ends, rolled back when it raises or the deadline comes; only `model.errors` come out."""
    until = asyncio.get_running_loop().time() + deadline_s
    with as_ours():
        async with asyncio.timeout_at(until):
            connection = engine.connect()
            try:
                await _unbroken(connection.start())
                with _cut_at(until, await _socket_of(connection)), as_ours():
                    yield Transaction(connection)
                    await _unbroken(connection.commit())
            finally:
                if connection.sync_connection is not None:
                    await _unbroken(connection.close())  # rolls back what was not committed


async def _unbroken(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is never cancelled; if this task is, that counts once `work` is over."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # looked at, so that the loop does not complain that nobody did
        raise cancelled
    return task.result()


async def _socket_of(connection: AsyncConnection) -> int | None:
    """The descriptor of a connection to a server."""
    if connection.dialect.name != "postgresql":
        return None
    driver: Any = (await connection.get_raw_connection()).driver_connection
    return int(driver.fileno())


@contextmanager
def _cut_at(until: float, descriptor: int | None) -> Iterator[None]:
    """At the deadline the socket is cut: a statement that a hanging server never answers fails at once."""
    if descriptor is None:
        yield
        return
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
