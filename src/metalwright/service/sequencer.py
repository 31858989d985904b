"""Turns' statements → the log. Run by the holder of the site's shard alone."""

from collections.abc import Sequence

from metalwright.evidence.merkle import RightEdge, leaf_hash
from metalwright.evidence.sequence import sequence
from metalwright.model.errors import MachineFault
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Instant
from metalwright.ports import LastSigned, LogSigner, Store

BATCH = 500
PAGE = 5000


class Sequencer:
    """Keeps the right edge of the tree between rounds; a new one reads the log once."""

    def __init__(self, store: Store, signer: LogSigner) -> None:
        self._store, self._signer = store, signer
        self._edge: RightEdge | None = None

    async def round(self, now: Instant) -> int:
        """Append what is pending; returns how many records. MachineFault when the database is older than what was signed."""
        size = await self._store.size()
        if self._edge is None or self._edge.size != size:
            self._edge = await self._read_edge(size)
        last = self._signer.last_signed()
        if size == last.size and size and self._edge.root().hex() != last.root:
            raise MachineFault(f"the log of {size} records is not the one its key signed", hint=RESTORED)
        pending = await self._batch(size, last)
        if not pending:
            return 0
        edge = self._edge.copy()
        batch = sequence(pending, edge, self._signer, now)
        signed = LastSigned(size=edge.size, root=edge.root().hex(), base=size, keys=tuple(statement.key for statement in pending))
        if size < last.size and signed.root != last.root:
            raise MachineFault("the batch that was signed before a crash cannot be made again", hint=RESTORED)
        self._signer.remember(signed)
        if await self._store.append(batch.entries, batch.checkpoint, size):
            self._edge = edge
            return len(batch.entries)
        self._edge = None
        return 0

    async def _batch(self, size: int, last: LastSigned) -> Sequence[PendingStatement]:
        """What comes next: the batch that was signed and never committed, else what is pending."""
        if size == last.size:
            return await self._store.pending(BATCH)
        if size != last.base:
            raise MachineFault(f"the log has {size} records, and its key has signed {last.size}", hint=RESTORED)
        pending = {statement.key: statement for statement in await self._store.pending(BATCH * 4)}
        if not all(key in pending for key in last.keys):
            raise MachineFault("statements that were signed before a crash are gone from the database", hint=RESTORED)
        return [pending[key] for key in last.keys]

    async def _read_edge(self, size: int) -> RightEdge:
        edge = RightEdge()
        for start in range(0, size, PAGE):
            for entry in await self._store.entries(start, min(start + PAGE, size)):
                edge.append(leaf_hash(entry.envelope))
        return edge


RESTORED = "an older database was put back: history would fork. Put the newest back, or begin a new log in a new state folder"
