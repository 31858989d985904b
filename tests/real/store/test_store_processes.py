"""Several processes on one store, killed, frozen and racing; on SQLite and on PostgreSQL.

Freezing is for PostgreSQL alone: a process frozen while it writes to a SQLite file keeps the file's lock until it wakes, which is why
SQLite has one writing process (`SiteLock`) and several workers need PostgreSQL.
"""

import asyncio
import random
import signal
import time
from pathlib import Path

import pytest

from metalwright.model.ids import WorkerId
from metalwright.store import SqlStore
from tests.conformance.store_processes import processes
from tests.conformance.store_site import change, fence_of, grant, node, opened, order, site_at, statement
from tests.conformance.store_worker import LEASE_S, TOKENS

pytestmark = pytest.mark.real
RACKS = 3
EVERYTHING = "holds @site r0 r1 r2"


@pytest.fixture(params=["sqlite", "postgresql"])
def either_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/.metalwright/site.db"
    return str(request.getfixturevalue("new_url"))


async def check_chains(store: SqlStore) -> None:
    """Each subject's orders are one chain without a fork, made under epochs that never go back; each has its one statement."""
    numbers = set()
    for row in await store.board():
        orders = await store.orders(row.subject)
        assert [one.parent for one in orders] == [None, *(one.number for one in orders)][: len(orders)]
        epochs = [int(one.body.reason.split()[0]) for one in orders]
        assert epochs == sorted(epochs)
        numbers |= {one.number for one in orders}
    keys = [one.key for one in await store.pending(1_000_000)]
    assert len(keys) == len(set(keys))
    assert set(keys) == {f"order/{number}" for number in numbers}


async def test_a_killed_workers_racks_are_taken_over_and_nothing_is_done_twice(either_url: str) -> None:
    """After kill -9 the other has everything within the lease and two renewals; the chains show no fork."""
    async with site_at(either_url, racks=RACKS) as store:
        with processes("worker", either_url, "w1", "w2") as (first, second):
            for process in (first, second):  # both hold half before anything happens
                process.line(lambda line: line.startswith("holds") and len(line.split()) == 3)
            second.forget()
            killed_at = time.monotonic()
            first.kill()
            second.says(EVERYTHING, within_s=LEASE_S + 10.0)
            took_s = time.monotonic() - killed_at
            second.says("turned @site")
        assert took_s < LEASE_S + 3.0, "a lease of 2 s, renewals every 0.4 s, and a loaded machine"
        await check_chains(store)


async def test_a_frozen_worker_is_fenced_when_it_wakes(new_url: str) -> None:
    """SIGSTOP, takeover, SIGCONT: its first writes are refused, and the chains show no fork and no epoch going back."""
    async with site_at(new_url, racks=RACKS) as store:
        with processes("worker", new_url, "w1", "w2") as (first, second):
            for process in (first, second):
                process.line(lambda line: line.startswith("holds") and len(line.split()) == 3)
            for frozen, other in ((first, second), (second, first)):
                frozen.signal(signal.SIGSTOP)
                other.forget()
                other.says(EVERYTHING)
                other.says("turned @site")
                frozen.forget()
                frozen.signal(signal.SIGCONT)
                frozen.line(lambda line: line.startswith(("fenced", "holds")))
                frozen.line(lambda line: line.startswith("holds") and len(line.split()) > 1)
        await check_chains(store)


async def test_a_worker_frozen_in_the_middle_never_writes_under_an_ended_lease(new_url: str) -> None:
    """Frozen at random moments, over and over, while another takes everything: still no fork."""
    chance = random.Random(5)
    async with site_at(new_url, racks=RACKS) as store:
        with processes("worker", new_url, "w1", "w2") as (first, second):
            first.says("turned")
            for _ in range(3):
                first.line(lambda line: line.startswith("turned"))
                await asyncio.sleep(chance.uniform(0.0, 0.03))  # a random moment within its turns, not a wait for anything
                first.signal(signal.SIGSTOP)
                second.forget()
                second.says(EVERYTHING)
                first.signal(signal.SIGCONT)
                second.forget()
                second.says("turned")
        await check_chains(store)


async def test_processes_that_race_for_one_head_never_fork_it(either_url: str) -> None:
    """Four processes with the same right to write: every order but the first has the one before as its parent, none is lost."""
    async with site_at(either_url) as store:
        fence = await fence_of(store, worker="shared", lease_s=3600.0)
        assert fence.epoch == 1
        with processes("swapper", either_url, "p1", "p2", "p3", "p4") as racers:
            for racer in racers:
                racer.says("ready")
            for racer in racers:
                racer.go()
            for racer in racers:
                assert racer.says("won") == "won 20"
        orders = await store.orders(node("a0-0"))
        assert len(orders) == 80
        assert [one.parent for one in orders] == [None, *(one.number for one in orders[:-1])]
        assert len(await store.pending(1000)) == 80


async def test_processes_that_race_for_tokens_get_each_once_and_then_revoke_it(either_url: str) -> None:
    """For every token exactly one process ever held a session; every other claim is a conflict."""
    async with site_at(either_url) as store:
        fence = await fence_of(store)
        made = tuple(grant(1, id=f"1/0/{token}", token=f"t{token}") for token in range(TOKENS))
        await store.commit([change(node("a0-0"), order=order(1, node("a0-0")), grants=made)], fence)
        with processes("claimer", either_url, "p1", "p2", "p3") as racers:
            for racer in racers:
                racer.says("ready")
            for racer in racers:
                racer.go()
            got = [line for racer in racers for line in racer.end() if line.startswith("got")]
        assert sorted(got, key=lambda line: int(line.split()[1])) == [f"got {token}" for token in range(TOKENS)]
        for row in (await store.load([node("a0-0")]))[0].grants:
            assert (row.conflicts, row.revoked) == (2, True)
            assert await store.session(str(row.session_hash)) is None


async def test_sequencers_that_race_log_every_statement_once(either_url: str) -> None:
    """Three of them at once: the log has no hole, no double and nothing missing."""
    async with site_at(either_url) as store:
        fence = await fence_of(store)
        said = tuple(statement(f"k{number}", node("a0-0")) for number in range(200))
        await store.commit([change(node("a0-0"), statements=said)], fence)
        with processes("sequencer", either_url, "p1", "p2", "p3") as racers:
            for racer in racers:
                racer.says("ready")
            for racer in racers:
                racer.go()
            for racer in racers:
                racer.end()
        entries = await store.entries(0, 1000)
        assert [one.index for one in entries] == list(range(200))
        assert sorted(one.key for one in entries) == sorted(one.key for one in said)
        last = await store.checkpoint()
        assert last is not None and last.size == await store.size() == 200


async def test_a_process_killed_while_it_commits_leaves_no_half_batch(either_url: str) -> None:
    """kill -9 at random moments, again and again: of each batch of twelve nodes everything is there, or nothing."""
    chance = random.Random(3)
    nodes, rounds = 12, 10
    seen = 0
    async with site_at(either_url, nodes=nodes):
        pass
    for _ in range(rounds):
        with processes("committer", either_url, "w") as (victim,):
            victim.says("ready")
            victim.says("committed")
            await asyncio.sleep(chance.uniform(0.0, 0.04))  # a random moment within its commits, not a wait for anything
            victim.kill()
        async with opened(either_url) as store:
            await store.release(WorkerId("w"))
            seen = await check_batches(store, nodes, at_least=seen + 1)


async def check_batches(store: SqlStore, nodes: int, *, at_least: int) -> int:
    """Every subject has equally many orders, each with its run, grant and statement; returns how many batches there are."""
    loaded = await store.load([node(f"a0-{unit}") for unit in range(nodes)])
    counts = set()
    numbers = set()
    for rows in loaded:
        orders = await store.orders(rows.subject)
        assert [one.parent for one in orders] == [None, *(one.number for one in orders)][: len(orders)]
        assert rows.order == orders[-1]
        assert [one.order for one in rows.runs] == [one.order for one in rows.grants] == [orders[-1].number]
        counts.add(len(orders))
        numbers |= {one.number for one in orders}
    assert len(counts) == 1
    assert {one.key for one in await store.pending(1_000_000)} == {f"s/{number}" for number in numbers}
    (count,) = counts
    assert count >= at_least
    return count
