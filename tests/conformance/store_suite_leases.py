"""Leases: one worker per shard, a fair share each, fenced by an epoch that only grows."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from metalwright.model.errors import FencedError
from metalwright.model.ids import WorkerId
from metalwright.ports import Fence
from tests.conformance.store_site import NOW, change, fence_of, node, opened, order, power, site_at, spec

A = node("a0-0")
SHORT_S = 0.4


async def eventually(look: Callable[[], Awaitable[Sequence[Fence]]], shards: int) -> Sequence[Fence]:
    """Ask until that many shards are held; the test's time limit ends a wait in vain."""
    while len(held := await look()) != shards:
        await asyncio.sleep(0.02)
    return held


async def test_one_worker_gets_everything_and_renews_the_same_fences(url: str) -> None:
    """Alone, a worker's share is all; renewing keeps the epoch."""
    async with site_at(url, racks=3) as store:
        first = await store.claim(WorkerId("w1"), 10.0)
        assert [fence.shard for fence in first] == ["@site", "r0", "r1", "r2"]
        assert await store.claim(WorkerId("w1"), 10.0) == first


async def test_a_second_worker_gets_its_share_once_the_leases_end(url: str) -> None:
    """The first stops renewing what is above ceil(shards / workers); nothing is taken from it before its lease ends."""
    async with site_at(url, racks=4) as store:
        before = await store.claim(WorkerId("w1"), SHORT_S)
        assert len(before) == 5
        assert await store.claim(WorkerId("w2"), 10.0) == []
        kept = await eventually(lambda: store.claim(WorkerId("w1"), 10.0), 3)
        assert set(kept) <= set(before)
        taken = await eventually(lambda: store.claim(WorkerId("w2"), 10.0), 2)
        assert not {fence.shard for fence in kept} & {fence.shard for fence in taken}
        assert {fence.epoch for fence in taken} == {2}


async def test_a_dead_workers_shards_are_taken_with_a_later_epoch(url: str) -> None:
    """Once its leases ended, another worker has everything, and the dead one's fences are worth nothing."""
    async with site_at(url, racks=2) as store:
        old = await fence_of(store, worker="w1", lease_s=SHORT_S)
        new = await eventually(lambda: store.claim(WorkerId("w2"), 10.0), 3)
        assert all(fence.epoch == 2 for fence in new)
        with pytest.raises(FencedError):
            await store.commit([change(A, order=order(1, A))], old)
        with pytest.raises(FencedError):
            await store.record([power(A)], old)
        assert await store.commit([change(A, order=order(1, A))], next(fence for fence in new if fence.shard == "r0")) == []


async def test_a_worker_that_overslept_its_own_lease_is_fenced_too(url: str) -> None:
    """An ended lease is no right to write, even when nobody took the shard; claiming again gives a new epoch."""
    async with site_at(url) as store:
        old = await fence_of(store, lease_s=0.05)
        ended = await store.database_now() + 0.05
        while await store.database_now() <= ended:
            await asyncio.sleep(0.01)
        with pytest.raises(FencedError):
            await store.commit([change(A)], old)
        assert (await fence_of(store)).epoch == old.epoch + 1


async def test_released_leases_are_free_at_once(url: str) -> None:
    """A worker that ends in order keeps nobody waiting, and its share is nobody's any more."""
    async with site_at(url, racks=3) as store:
        old = await fence_of(store, worker="w1")
        await store.release(WorkerId("w1"))
        assert len(await store.claim(WorkerId("w2"), 10.0)) == 4
        with pytest.raises(FencedError):
            await store.commit([change(A)], old)


async def test_workers_that_claim_at_the_same_time_never_share_a_shard(url: str) -> None:
    """Five stores, many rounds: at no answer do two workers hold one shard with live leases."""
    async with site_at(url, racks=6), opened(url) as one, opened(url) as two, opened(url) as three:
        stores = {WorkerId(f"w{number}"): store for number, store in enumerate((one, two, three))}
        for _ in range(10):
            answers = await asyncio.gather(*(store.claim(worker, 30.0) for worker, store in stores.items()))
            shards = [fence.shard for fences in answers for fence in fences]
            assert len(shards) == len(set(shards))


async def test_racks_that_left_the_spec_are_leased_to_nobody(url: str) -> None:
    """And when they come back, their epoch goes on from where it was."""
    async with site_at(url, racks=2) as store:
        assert len(await store.claim(WorkerId("w1"), 10.0)) == 3
        await store.adopt_spec(spec(racks=1, digest="sha256:less"), NOW)
        assert [fence.shard for fence in await store.claim(WorkerId("w1"), 10.0)] == ["@site", "r0"]
        await store.release(WorkerId("w1"))
        await store.adopt_spec(spec(racks=2), NOW)
        assert [(fence.shard, fence.epoch) for fence in await store.claim(WorkerId("w2"), 10.0)] == [("@site", 2), ("r0", 2), ("r1", 2)]


async def test_the_databases_clock_runs(url: str) -> None:
    """Its time is seconds since 1970 and never stands still."""
    async with opened(url) as store:
        first = await store.database_now()
        assert first > NOW
        while await store.database_now() <= first:
            await asyncio.sleep(0.005)


async def test_a_lone_server_says_that_a_failover_is_unsafe(url: str) -> None:
    """An embedded site has no failover; a server without a synchronous standby has an unsafe one."""
    async with opened(url) as store:
        gap = await store.failover_gap()
    assert gap == "" if url.startswith("sqlite") else "no synchronous standby" in gap
