"""`LeaseStore`: racks are shards, and one worker at a time holds one, by a row with an epoch.

A lease that is to be given up (another worker joined) is not taken away: it is no longer renewed and ends by itself, so that the next
holder never starts while an act of the last one may still be under way. Only `release` ends leases at once.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Double, bindparam, case, delete, func, or_, select, text, update

from metalwright.model.ids import Instant, WorkerId
from metalwright.ports import Fence
from metalwright.store.part import Part
from metalwright.store.server import END_ABANDONED
from metalwright.store.statements import DatabaseNow, insert_or_overwrite
from metalwright.store.tables import leases, workers

_LEASE_S: BindParameter[float] = bindparam("b_lease_s", type_=Double())
_ME: BindParameter[str] = bindparam("b_worker")
_IS_MINE = (leases.c.worker == _ME) & (leases.c.expires_at > DatabaseNow())
_IS_OPEN = leases.c.is_active & or_(leases.c.worker == _ME, leases.c.expires_at <= DatabaseNow())

_LIVE_WORKERS = select(func.count()).where(workers.c.expires_at > DatabaseNow()).scalar_subquery()
_FAIR_SHARE = select((func.count() + _LIVE_WORKERS - 1) // _LIVE_WORKERS).select_from(leases).where(leases.c.is_active).scalar_subquery()
"""ceil(shards / live workers); the worker that asks has just said that it lives."""
_CHOSEN = select(leases.c.shard).where(_IS_OPEN).order_by(case((_IS_MINE, 0), else_=1), leases.c.shard).limit(_FAIR_SHARE)
_LOCKED = select(leases.c.shard).where(leases.c.shard.in_(_CHOSEN)).order_by(leases.c.shard).with_for_update()
"""In one order for all workers, so that they never wait for each other in a circle."""
_TAKE = (
    update(leases)
    .where(leases.c.shard.in_(_LOCKED), _IS_OPEN)  # `_IS_OPEN` once more: PostgreSQL looks again after it waited for a lock
    .values(worker=_ME, epoch=leases.c.epoch + case((_IS_MINE, 0), else_=1), expires_at=DatabaseNow() + _LEASE_S)
    .returning(leases.c.shard, leases.c.epoch)
)


class Leases(Part):
    """See `ports.LeaseStore`."""

    async def claim(self, worker: WorkerId, lease_s: float) -> Sequence[Fence]:
        values: dict[str, Any] = {"b_worker": worker, "b_lease_s": lease_s}
        alive = insert_or_overwrite(self._database.dialect, workers, ("worker",), ("expires_at",)).values(
            worker=_ME, expires_at=DatabaseNow() + _LEASE_S
        )

        def work(connection: Connection) -> Sequence[Any]:
            if self._database.dialect == "postgresql":
                connection.execute(END_ABANDONED)
            connection.execute(alive, values)
            return connection.execute(_TAKE, values).all()

        return [Fence(shard=row.shard, worker=worker, epoch=row.epoch) for row in sorted(await self._database.write(work))]

    async def release(self, worker: WorkerId) -> None:
        def work(connection: Connection) -> None:
            connection.execute(update(leases).where(leases.c.worker == worker).values(worker=None, expires_at=0.0))
            connection.execute(delete(workers).where(workers.c.worker == worker))

        await self._database.write(work)

    async def failover_gap(self) -> str:
        """Without a synchronous standby, a promoted standby may lack committed intents; leases and evidence would go back in time."""
        if self._database.dialect == "sqlite":
            return ""
        names = await self._database.read(lambda connection: connection.execute(text("SHOW synchronous_standby_names")).scalar_one())
        return "" if names else "failover unsafe: the database has no synchronous standby"

    async def database_now(self) -> Instant:
        return float(await self._database.read(lambda connection: connection.execute(select(DatabaseNow())).scalar_one()))
