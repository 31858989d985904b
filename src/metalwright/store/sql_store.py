"""`open_store(url)`: every store protocol of `ports` over one database."""

from collections.abc import AsyncIterator

from metalwright.model.ids import Subject
from metalwright.store.database import Database, parse_url
from metalwright.store.endpoint_rows import EndpointRows
from metalwright.store.evidence_rows import EvidenceRows
from metalwright.store.lease_rows import Leases
from metalwright.store.migrate import migrate
from metalwright.store.notify import listen
from metalwright.store.permit_rows import Permits
from metalwright.store.request_rows import Requests
from metalwright.store.specs import Specs
from metalwright.store.turns import Turns
from metalwright.store.view_rows import Views


class SqlStore(Specs, Turns, Leases, Permits, EndpointRows, EvidenceRows, Requests, Views):
    """`ports.Store` on SQLite or PostgreSQL. Every call is one transaction of at most `DEADLINE_S`; only `model.errors` come out."""

    async def open(self) -> None:
        """Connect and bring the tables up to date. TemporaryError: not reachable now; InputError: address, rights or version."""
        self._database.open()
        try:
            await migrate(self._database)
        except BaseException:
            await self._database.close()
            raise

    async def close(self) -> None:
        """End every connection and every `changes()`."""
        self._hints.close()
        await self._database.close()

    def changes(self) -> AsyncIterator[Subject]:
        """Subjects that were written about, as hints: of every process on PostgreSQL, of this one on SQLite."""
        return listen(self._database.url) if self._database.dialect == "postgresql" else self._hints.listen()


def open_store(url: str) -> SqlStore:
    """The store at `sqlite:///relative.db`, `sqlite:////absolute.db` or `postgresql://…`; not yet connected: `await store.open()`."""
    return SqlStore(Database(parse_url(url)))
