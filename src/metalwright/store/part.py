"""What every part of the store shares. A part implements one protocol of `ports`; `SqlStore` is all of them over one database."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from metalwright.model.ids import Subject
from metalwright.ports import NodeRows
from metalwright.store.assembling import assemble
from metalwright.store.database import Database, Work
from metalwright.store.hints import Hints
from metalwright.store.loading import fetch_nodes
from metalwright.store.notify import notify
from metalwright.store.remembered import Remembered
from metalwright.store.server import DEADLINE_S

T = TypeVar("T")


class Part:
    """Base of the parts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hints = Hints()
        self._remembered = Remembered()

    async def _change(self, subjects: Iterable[Subject], work: Work[T], deadline_s: float = DEADLINE_S) -> T:
        """A writing transaction about these subjects; whoever listens for changes is told when it is committed."""
        if self._database.dialect == "postgresql":
            return await self._database.write(_and_notify(subjects, work), deadline_s)
        result = await self._database.write(work, deadline_s)
        self._hints.tell(subjects)
        return result

    async def _load(self, subjects: Sequence[Subject]) -> list[NodeRows]:
        """What is stored about these subjects; parsed in a thread when there is much to parse, so that the event loop goes on."""
        fetched = await self._database.read(lambda connection: fetch_nodes(connection, subjects, self._remembered))
        if not fetched.bodies:
            return assemble(fetched, self._remembered)
        return await asyncio.to_thread(assemble, fetched, self._remembered)


def _and_notify(subjects: Iterable[Subject], work: Work[T]) -> Work[T]:
    def both(connection: Connection) -> T:
        result = work(connection)
        notify(connection, subjects)
        return result

    return both
