"""A worker acts only while its lease is good; a frozen one is refused before its next action."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from metalwright.model.errors import FencedError, TemporaryError
from metalwright.model.ids import WorkerId
from metalwright.ports import Fence
from metalwright.service.leases import LEASE_S, MARGIN_S, Leases


@dataclass
class VirtualClock:
    """ports.Clock that a test moves."""

    at: float = 1000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class LeaseTable:
    """ports.LeaseStore with one answer; `slow_s`: how long the database takes to give it; `ahead_s`: its clock."""

    clock: VirtualClock
    epochs: dict[str, int] = field(default_factory=lambda: {"r01": 1, "r02": 1})
    slow_s: float = 0.0
    ahead_s: float = 0.0

    async def claim(self, worker: WorkerId, lease_s: float) -> Sequence[Fence]:
        self.clock.at += self.slow_s
        return [Fence(shard=shard, worker=worker, epoch=epoch) for shard, epoch in self.epochs.items()]

    async def release(self, worker: WorkerId) -> None:
        self.epochs.clear()

    async def failover_gap(self) -> str:
        return ""

    async def database_now(self) -> float:
        return self.clock.at + self.ahead_s


def held() -> tuple[VirtualClock, LeaseTable, Leases]:
    clock = VirtualClock()
    table = LeaseTable(clock)
    leases = Leases(table, WorkerId("w"), clock)
    asyncio.run(leases.renew())
    return clock, table, leases


def test_a_frozen_worker_is_refused_when_it_wakes() -> None:
    """Once the watchdog ran out nothing may be begun, whatever the worker still believes."""
    clock, _, leases = held()
    fence = leases.held()["r01"]
    leases.require(fence)
    clock.at += LEASE_S - MARGIN_S
    with pytest.raises(FencedError):
        leases.require(fence)
    assert not leases.held()


def test_the_watchdog_runs_from_before_the_request() -> None:
    """A database that answers late does not make a lease longer."""
    clock, table, leases = held()
    table.slow_s = LEASE_S
    asyncio.run(leases.renew())
    assert not leases.held() and clock.at > 1000.0


def test_a_shard_that_moved_is_told_and_its_old_fence_refused() -> None:
    """A later epoch, or a shard that is gone: lost; the old fence is not good any more."""
    _, table, leases = held()
    old = leases.held()["r01"]
    table.epochs = {"r01": 2}
    assert asyncio.run(leases.renew()) == {"r01", "r02"}
    with pytest.raises(FencedError):
        leases.require(old)


def test_released_leases_are_no_longer_held() -> None:
    """After the release others take over at once."""
    _, _, leases = held()
    asyncio.run(leases.release())
    assert not leases.held()


@pytest.mark.parametrize("ahead_s", [MARGIN_S + 0.1, -MARGIN_S - 0.1, 3600.0])
def test_a_worker_whose_clock_is_wrong_stops(ahead_s: float) -> None:
    """It gives its shards back and takes none, until the clocks agree again."""
    _, table, leases = held()
    table.ahead_s = ahead_s
    with pytest.raises(TemporaryError, match="clock is"):
        asyncio.run(leases.renew())
    assert not leases.held() and not table.epochs
    table.ahead_s, table.epochs = MARGIN_S / 2, {"r01": 3}
    asyncio.run(leases.renew())
    assert set(leases.held()) == {"r01"}
