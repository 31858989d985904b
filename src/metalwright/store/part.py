"""What every part of the store shares. A part implements one protocol of `ports`; `SqlStore` is all of them over one database."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from metalwright.model.ids import Subject
from metalwright.store.database import DEADLINE_S, Database
from metalwright.store.hints import Hints
from metalwright.store.notify import notify
from metalwright.store.remembered import Remembered
from metalwright.store.transaction import Transaction


class Part:
    """Base of the parts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hints = Hints()
        self._remembered = Remembered()

    @asynccontextmanager
    async def _change(self, subjects: Iterable[Subject], deadline_s: float = DEADLINE_S) -> AsyncIterator[Transaction]:
        """A writing transaction about these subjects; whoever listens for changes is told when it is committed."""
        async with self._database.write(deadline_s) as connection:
            yield connection
            if self._database.dialect == "postgresql":
                await notify(connection, subjects)
        if self._database.dialect == "sqlite":
            self._hints.tell(subjects)
