"""Which shards this worker holds now. The watchdog runs on the monotonic clock, from before the renewing request was sent."""

from collections.abc import Mapping

from metalwright.model.errors import FencedError
from metalwright.model.ids import WorkerId
from metalwright.ports import Clock, Fence, LeaseStore

LEASE_S = 10.0
"""A dead worker's shards move within this time. Shorter makes a database hiccup of some seconds a takeover; longer leaves racks
without anyone."""
RENEW_S = 3.0
MARGIN_S = 2.0
"""The watchdog runs out this much before the lease: clocks of worker and database may differ by as much."""


class Leases:
    """The fences this worker holds, each good until its watchdog runs out."""

    def __init__(self, store: LeaseStore, worker: WorkerId, clock: Clock) -> None:
        self._store, self._worker, self._clock = store, worker, clock
        self._fences: dict[str, Fence] = {}
        self._good_until = 0.0

    async def renew(self) -> frozenset[str]:
        """Renew and take shards; returns the shards that were lost."""
        asked_at = self._clock.monotonic()
        fences = {fence.shard: fence for fence in await self._store.claim(self._worker, LEASE_S)}
        lost = {shard for shard, fence in self._fences.items() if fences.get(shard) != fence}
        self._fences, self._good_until = fences, asked_at + LEASE_S - MARGIN_S
        return frozenset(lost)

    def held(self) -> Mapping[str, Fence]:
        """Shard → fence; empty once the watchdog has run out."""
        return self._fences if self._clock.monotonic() < self._good_until else {}

    def require(self, fence: Fence) -> None:
        """FencedError unless this very fence is still good: asked before every hardware action."""
        if self.held().get(fence.shard) != fence:
            raise FencedError(f"the lease of {fence.shard} is gone", hint="another worker goes on; nothing is to be done")

    async def release(self) -> None:
        """Give everything back, so that others need not wait for the expiry."""
        self._fences = {}
        await self._store.release(self._worker)
