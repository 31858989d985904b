"""`TurnStore`: what turns read and write."""

import asyncio
from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select, update

from metalwright.model.errors import InputError
from metalwright.model.ids import Instant, Subject
from metalwright.model.observation import Observation
from metalwright.ports import Fence, NodeChange, NodeRows
from metalwright.store.committing import commit_changes
from metalwright.store.fencing import check_fence
from metalwright.store.part import Part
from metalwright.store.recording import encode, forget_unused, record_observations
from metalwright.store.specs import ORDER
from metalwright.store.statements import AnyOf
from metalwright.store.tables import heads, subjects

FORGET_EVERY_S = 600.0

_DUE = (
    select(subjects.c.shard, subjects.c.subject)
    .where(subjects.c.is_active, AnyOf(subjects.c.shard, "shards"), subjects.c.next_due_at <= bindparam("now"))
    .order_by(subjects.c.next_due_at, subjects.c.subject)
    .limit(bindparam("most"))
)
_NUMBERS = update(heads).where(heads.c.name == ORDER).values(number=heads.c.number + bindparam("b_count")).returning(heads.c.number)


class Turns(Part):
    """See `ports.TurnStore`."""

    _forgot_at: Instant = 0.0

    async def due(self, shards: Sequence[str], now: Instant, limit: int) -> Sequence[tuple[str, Subject]]:
        wanted = {"shards": shards, "now": now, "most": limit}
        found = await self._database.read(lambda connection: connection.execute(_DUE, wanted).all())
        return [(row.shard, Subject(row.subject)) for row in found]

    async def load(self, subjects: Sequence[Subject]) -> Sequence[NodeRows]:
        return await self._load(subjects)

    async def commit(self, changes: Sequence[NodeChange], fence: Fence) -> Sequence[Subject]:
        if not changes:
            return []
        return await self._change([change.subject for change in changes], lambda connection: commit_changes(connection, changes, fence))

    async def record(self, observations: Sequence[Observation], fence: Fence | None) -> None:
        if not observations:
            return
        encoded = await asyncio.to_thread(encode, observations)  # an inventory takes most of a millisecond

        def work(connection: Connection) -> None:
            if fence is not None:
                check_fence(connection, fence)
            record_observations(connection, encoded)

        await self._change([look.subject for look in observations], work)
        await self._forget(max(look.seen_at for look in observations))

    async def _forget(self, now: Instant) -> None:
        if now - self._forgot_at < FORGET_EVERY_S:
            return
        self._forgot_at = now
        await self._database.write(lambda connection: forget_unused(connection, now))

    async def next_order_numbers(self, count: int) -> range:
        if count < 1:
            raise InputError("at least one order number must be asked for")
        last: int = await self._database.write(lambda connection: connection.execute(_NUMBERS, {"b_count": count}).scalar_one())
        return range(last - count + 1, last + 1)
