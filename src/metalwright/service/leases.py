"""Which shards this worker holds now. The watchdog runs on the monotonic clock, from before the renewing request was sent."""

from collections.abc import Mapping

from metalwright.model.errors import FencedError, TemporaryError
from metalwright.model.ids import WorkerId
from metalwright.ports import Clock, Fence, LeaseStore

LEASE_S = 8.0
RENEW_S = 2.0
"""A dead worker's shards move within the sum, 10 s: the others look for expired leases when they renew their own. A shorter lease makes
a database hiccup of some seconds a takeover; a longer one leaves racks without anyone."""
MARGIN_S = 2.0
"""The watchdog runs out this much before the lease, and the clocks of worker and database may differ by as much."""


class Leases:
    """The fences this worker holds, each good until its watchdog runs out."""

    def __init__(self, store: LeaseStore, worker: WorkerId, clock: Clock) -> None:
        self._store, self._worker, self._clock = store, worker, clock
        self._fences: dict[str, Fence] = {}
        self._good_until = 0.0

    async def renew(self) -> frozenset[str]:
        """Renew and take shards; returns the shards that were lost. TemporaryError while this machine's clock is wrong."""
        asked_at = self._clock.monotonic()
        await self._require_one_time()
        fences = {fence.shard: fence for fence in await self._store.claim(self._worker, LEASE_S)}
        lost = {shard for shard, fence in self._fences.items() if fences.get(shard) != fence}
        self._fences, self._good_until = fences, asked_at + LEASE_S - MARGIN_S
        return frozenset(lost)

    async def _require_one_time(self) -> None:
        """Ages and expiries are judged by this machine's clock: off by more than the margin from the database's, it gives everything
        back and takes nothing."""
        before, database, after = self._clock.now(), await self._store.database_now(), self._clock.now()
        if before - MARGIN_S <= database <= after + MARGIN_S:
            return
        self._good_until = 0.0
        await self.release()
        off_s = after - database
        raise TemporaryError(f"this machine's clock is {off_s:+.0f} s off the database's: not working", hint="set it by NTP or chrony")

    @property
    def is_good(self) -> bool:
        """The database answered a renewal a moment ago: this worker may act, and what agents tell it can be written down."""
        return self._clock.monotonic() < self._good_until

    def left_s(self) -> float:
        """Until the watchdog runs out; negative after."""
        return self._good_until - self._clock.monotonic()

    def held(self) -> Mapping[str, Fence]:
        """Shard → fence; empty once the watchdog has run out."""
        return self._fences if self.is_good else {}

    def require(self, fence: Fence) -> None:
        """FencedError unless this very fence is still good: asked before every hardware action."""
        if self.held().get(fence.shard) != fence:
            raise FencedError(f"the lease of {fence.shard} is gone", hint="another worker goes on; nothing is to be done")

    async def release(self) -> None:
        """Give everything back, so that others need not wait for the expiry."""
        self._fences = {}
        await self._store.release(self._worker)
