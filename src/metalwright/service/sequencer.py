"""Turns' statements → the log. Run by the holder of the site's shard alone.

The order is: sign, tell the key's memory, commit. After a crash in between, the memory holds a batch that the database lacks, and the
very same bytes are committed in the next round. A database that is older than the memory in any other way was put back from a backup.
"""

import asyncio

from metalwright.evidence.errors import Refused
from metalwright.evidence.sequence import Batch, LogState, follow, sequence, sign_checkpoint
from metalwright.model.errors import MachineFault
from metalwright.model.ids import Instant
from metalwright.ports import LogSigner, Store

BATCH = 500
PAGE = 5000
RESTORED = "an older database was put back: history would fork. Put the newest back, or begin a new log in a new state folder"


class Sequencer:
    """Keeps nothing between rounds but that the database was compared with the key's memory once."""

    def __init__(self, store: Store, signer: LogSigner) -> None:
        self._store, self._signer = store, signer
        self._is_compared = False

    async def round(self, now: Instant) -> int:
        """Append what is pending; returns how many records. MachineFault when the database is not the log that the key signed."""
        last, size = self._signer.last_signed(), await self._store.size()
        if size > last.after.size:
            await self._catch_up(last.after, size)
            return 0
        if size < last.after.size:
            return await self._commit_again(last, size)
        pending = await self._store.pending(BATCH)
        if pending or not self._is_compared:
            await self._compare(last.after)
        if not pending:
            return 0
        batch = await asyncio.to_thread(sequence, pending, last.after, self._signer, now)
        if not await asyncio.to_thread(self._signer.remember, batch):
            return 0
        return await self._commit(batch)

    async def _commit(self, batch: Batch) -> int:
        """False from the store: another sequencer was first; the next round looks anew."""
        is_appended = await self._store.append(batch.entries, batch.checkpoint, batch.before.size)
        return len(batch.entries) if is_appended else 0

    async def _commit_again(self, last: Batch, size: int) -> int:
        """Signed before a crash and never committed: the same bytes."""
        if size != last.before.size:
            raise MachineFault(f"the log has {size} records, and its key has signed {last.after.size}", hint=RESTORED)
        await self._compare(last.before)
        return await self._commit(last)

    async def _compare(self, state: LogState) -> None:
        checkpoint = await self._store.checkpoint()
        if state.size and (checkpoint is None or checkpoint.root != f"sha256:{state.root.hex()}"):
            raise MachineFault(f"the log of {state.size} records is not the one its key signed", hint=RESTORED)
        self._is_compared = True

    async def _catch_up(self, state: LogState, size: int) -> None:
        """The memory is older than the database (a state folder put back): learn what the key signed, if it did sign it."""
        checkpoint = await self._store.checkpoint()
        try:
            seen = state
            for start in range(state.size, size, PAGE):
                seen = follow(seen, await self._store.entries(start, min(start + PAGE, size)), self._signer)
        except Refused as refused:
            raise MachineFault(f"the log is not the one its key signed: {refused}", hint=RESTORED) from refused
        if checkpoint is None or checkpoint.root != f"sha256:{seen.root.hex()}" or checkpoint.size != seen.size:
            raise MachineFault("the newest checkpoint is not of the records before it", hint=RESTORED)
        for start in range(state.size, size, PAGE):
            entries = tuple(await self._store.entries(start, min(start + PAGE, size)))
            after = follow(state, entries, self._signer)
            batch = Batch(before=state, after=after, entries=entries, checkpoint=sign_checkpoint(after, self._signer))
            if not await asyncio.to_thread(self._signer.remember, batch):
                return
            state = after
