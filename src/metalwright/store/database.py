"""One database, whichever: its address, and transactions on it.

The work of a transaction is a synchronous function of its connection: it can await nothing, so nothing but the database is ever waited
for inside one.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, exc, make_url
from sqlalchemy.engine import URL

from metalwright.model.errors import InputError, InvariantError
from metalwright.store.embedded import Embedded
from metalwright.store.server import DEADLINE_S, Server

T = TypeVar("T")
Work = Callable[[Connection], T]

LONG_DEADLINE_S = 300.0
"""Of a migration or the adoption of a new spec: done once by an operator, not inside a turn."""

EXAMPLE = "sqlite:///path/site.db or postgresql://user@host/name"

for _library in ("sqlalchemy", "psycopg"):
    logging.getLogger(_library).addHandler(logging.NullHandler())  # else what they log of errors goes to stderr, beside our own words


def parse_url(url: str) -> URL:
    """`sqlite:///relative/site.db`, `sqlite:////absolute/site.db` or `postgresql://…` → the URL with the driver used here."""
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError) as error:
        raise InputError("this is not a database address", hint=EXAMPLE) from error
    if parsed.drivername == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise InputError(f"no store for {parsed.render_as_string(hide_password=True)}", hint=EXAMPLE)


class Database:
    """`dialect` is `sqlite` or `postgresql`. Only `model.errors` come out of its calls."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.dialect = url.get_backend_name()
        self._open: Embedded | Server | None = None

    def open(self) -> None:
        """Make it ready; it connects at the first call."""
        if self._open is None:
            self._open = Embedded(self.url) if self.dialect == "sqlite" else Server(self.url)

    async def close(self) -> None:
        """End every connection."""
        closing, self._open = self._open, None
        if closing is not None:
            await closing.close()

    async def read(self, work: Work[T], deadline_s: float = DEADLINE_S) -> T:
        """One reading transaction: every statement in it sees the same moment."""
        return await self._ready().run(work, writes=False, deadline_s=deadline_s)

    async def write(self, work: Work[T], deadline_s: float = DEADLINE_S) -> T:
        """One writing transaction: committed when `work` returns, gone when it raises."""
        return await self._ready().run(work, writes=True, deadline_s=deadline_s)

    def _ready(self) -> Embedded | Server:
        if self._open is None:
            raise InvariantError("the store is not open")
        return self._open
