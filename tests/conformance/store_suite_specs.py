"""Specs, site plans, migrations."""

import asyncio
from dataclasses import replace

import pytest

from metalwright.model.errors import FencedError, InputError
from metalwright.model.ids import Digest
from metalwright.model.judgement import Gate
from metalwright.model.observation import Kind, Witness
from metalwright.model.work import SitePlan
from metalwright.ports import SITE_SHARD
from metalwright.store import SqlStore
from tests.conformance.store_site import (
    NOW,
    change,
    counting_statements,
    fence_of,
    hardware,
    node,
    node_spec,
    opened,
    order,
    power,
    site_at,
    spec,
    spec_with,
)


def plan(number: int, parent: int | None) -> SitePlan:
    return SitePlan(number=number, parent=parent, spec_digest=Digest("sha256:spec"), until=Gate.OS, max_disrupted=4, made_at=NOW)


async def test_an_empty_store_knows_nothing(new_url: str) -> None:
    """Before the first spec everything reads as absent, and nothing raises."""
    async with opened(new_url) as store:
        assert await store.current_spec() is None
        assert await store.site_plan() is None
        assert await store.board() == []
        assert await store.node(node()) is None
        assert (await store.size(), await store.checkpoint()) == (0, None)
        assert await store.claim("w1", 10.0) == []


async def test_opening_twice_changes_nothing(new_url: str) -> None:
    """The migrations run once; a second open finds the same rows and makes no table."""
    async with site_at(new_url):
        pass
    with counting_statements() as sent:
        async with opened(new_url) as store:
            assert (await store.current_spec()) == spec()
    assert not [text for text in sent if "CREATE" in text.upper() or "INSERT" in text.upper()]


async def test_two_processes_may_open_a_new_database_at_once(new_url: str) -> None:
    """Both find the tables made, whoever made them."""

    async def open_and_look() -> int:
        async with opened(new_url) as store:
            return await store.size()

    assert await asyncio.gather(*(open_and_look() for _ in range(4))) == [0, 0, 0, 0]


async def test_an_adopted_spec_reads_back_in_another_process(url: str) -> None:
    """The spec comes back whole, from the database and not from memory."""
    async with site_at(url, racks=2, nodes=3):
        pass
    async with opened(url) as store:
        assert await store.current_spec() == spec(racks=2, nodes=3)


async def test_subjects_that_left_the_spec_are_kept_but_not_turned(url: str) -> None:
    """Removing a node ends its turns and keeps its story; bringing it back resumes it."""
    async with site_at(url, nodes=2) as store:
        fence = await fence_of(store)
        await store.commit([change(node("a0-1"), order=order(1, node("a0-1")), next_due_at=NOW)], fence)
        await store.adopt_spec(spec(nodes=1, digest="sha256:less"), NOW)
        assert [subject for _, subject in await store.due(["r0"], NOW + 1.0, 10)] == [node("a0-0")]
        assert [one.number for one in await store.orders(node("a0-1"))] == [1]
        assert node("a0-1") not in {row.subject for row in await store.board()}
        await store.adopt_spec(spec(nodes=2), NOW + 2.0)
        assert (await store.load([node("a0-1")]))[0].order == order(1, node("a0-1"))
        assert len(await store.due(["r0"], NOW + 3.0, 10)) == 2


async def test_a_node_that_moved_to_another_rack_is_fenced_from_the_old_one(url: str) -> None:
    """The worker that still turns it for its old rack writes nothing any more."""
    async with site_at(url, nodes=2) as store:
        fence = await fence_of(store)
        await store.adopt_spec(spec_with((node_spec("a0-0", "r0"), node_spec("a0-1", "r9")), digest="sha256:moved"), NOW)
        with pytest.raises(FencedError):
            await store.commit([change(node("a0-0"), order=order(1, node("a0-0"))), change(node("a0-1"))], fence)
        assert await store.orders(node("a0-0")) == []


async def test_looks_at_another_bmc_are_forgotten(url: str) -> None:
    """A node that gets another BMC address, also while it was away from the spec, is not judged by what the old one said; all other
    looks stay."""
    other = replace(node_spec("a0-1", "r0"), bmc="https://127.0.0.2")

    async def kinds(store: SqlStore, name: str) -> set[Witness]:
        return {look.witness for look in (await store.load([node(name)]))[0].observations}

    async with site_at(url, nodes=2) as store:
        agents = [replace(hardware(node(name)), kind=Kind.AGENT_HARDWARE, witness=Witness.RAM_DISK) for name in ("a0-0", "a0-1")]
        await store.record([power(node("a0-0")), power(node("a0-1")), *agents], None)
        await store.adopt_spec(spec(nodes=2, digest="sha256:same"), NOW)
        assert await kinds(store, "a0-1") == {Witness.OUT_OF_BAND, Witness.RAM_DISK}
        await store.adopt_spec(spec_with((node_spec("a0-0", "r0"), other), digest="sha256:swapped"), NOW)
        assert await kinds(store, "a0-0") == {Witness.OUT_OF_BAND, Witness.RAM_DISK}
        assert await kinds(store, "a0-1") == {Witness.RAM_DISK}
        await store.adopt_spec(spec_with((other,), digest="sha256:less"), NOW)
        await store.adopt_spec(spec_with((replace(node_spec("a0-0", "r0"), bmc="https://127.0.0.3"), other), digest="sha256:back"), NOW)
        assert await kinds(store, "a0-0") == {Witness.RAM_DISK}


async def test_the_site_has_a_shard_of_its_own(url: str) -> None:
    """The site's turn is leased like a rack, and no rack can take its name."""
    async with site_at(url) as store:
        assert {fence.shard for fence in await store.claim("w1", 10.0)} == {SITE_SHARD, "r0"}
        with pytest.raises(InputError, match="may not be called"):
            await store.adopt_spec(spec_with((node_spec("a", SITE_SHARD),)), NOW)


async def test_a_site_plan_is_accepted_only_on_the_present_one(url: str) -> None:
    """Of several plans on one parent exactly one is accepted; the others change nothing."""
    async with site_at(url) as store:
        assert await store.put_site_plan(plan(1, None))
        assert not await store.put_site_plan(plan(2, None))
        answers = await asyncio.gather(*(store.put_site_plan(plan(number, 1)) for number in (2, 3, 4)))
        assert sorted(answers) == [False, False, True]
        kept = await store.site_plan()
        assert kept is not None and kept.number == 2 + answers.index(True)
