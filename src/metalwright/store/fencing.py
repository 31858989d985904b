"""The fence: a write for a shard counts only while this worker's lease on it, with this epoch, lives."""

from sqlalchemy import Connection, bindparam, select

from metalwright.model.errors import FencedError
from metalwright.ports import Fence
from metalwright.store.statements import DatabaseNow
from metalwright.store.tables import leases

_LEASE = (
    select(leases.c.shard)
    .where(
        leases.c.shard == bindparam("shard"),
        leases.c.worker == bindparam("worker"),
        leases.c.epoch == bindparam("epoch"),
        leases.c.expires_at > DatabaseNow(),
    )
    .with_for_update(read=True)
)
"""Locked (shared) on PostgreSQL until the transaction ends: nobody takes the shard between this check and the commit."""


def check_fence(connection: Connection, fence: Fence) -> None:
    """FencedError unless the lease lives. Run it in the transaction that writes, before its first write."""
    values = {"shard": fence.shard, "worker": fence.worker, "epoch": fence.epoch}
    if (connection.execute(_LEASE, values)).first() is None:
        raise FencedError(
            f"worker {fence.worker} no longer holds {fence.shard} (epoch {fence.epoch})",
            hint="its lease ended, or another worker took the shard; claim again before the next turn",
        )
