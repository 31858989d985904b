"""Permits, and what people ask."""

import pytest

from metalwright.model.ids import OrderNumber, Subject
from metalwright.model.work import Permit, Wait
from tests.conformance.store_site import NOW, change, fence_of, node, order, site_at, waiting

A, B = node("a0-0"), node("a0-1")
SITE = Subject("site:atlas")


def permit(subject: Subject, number: int, *, until: float = NOW + 600.0) -> Permit:
    return Permit(subject=subject, order=OrderNumber(number), domains=("rack:r0", "feed:a"), watts=10_200, expires_at=until)


async def test_who_waits_for_a_permit_is_wanted_longest_first(url: str) -> None:
    """Until one is granted; the grant wakes the node and is part of its rows."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        later = {"next_due_at": float("inf")}
        await store.commit([change(A, order=order(1, A), waiting=waiting(Wait.PERMIT, since=NOW + 5.0), **later)], fence)
        await store.commit([change(B, order=order(2, B), waiting=waiting(Wait.PERMIT, since=NOW), **later)], fence)
        assert await store.wanted() == [(B, 2), (A, 1)]
        await store.grant([permit(B, 2)])
        assert await store.wanted() == [(A, 1)]
        assert await store.granted() == [permit(B, 2)]
        assert (await store.load([B]))[0].permit == permit(B, 2)
        assert await store.due(["r0"], NOW, 10) == [("r0", B)]


async def test_a_permit_ends_with_its_order_or_when_it_is_given_back(url: str) -> None:
    """A permit for an order that is no longer the head permits nothing, and holds no place."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A)), change(B, order=order(2, B))], fence)
        await store.grant([permit(A, 1), permit(B, 2), permit(A, 77), permit(node("ghost"), 1)])
        assert await store.granted() == [permit(A, 1), permit(B, 2)]
        await store.commit([change(A, order=order(3, A, parent=1)), change(B, release_permit=True)], fence)
        assert await store.granted() == []
        assert (await store.load([A]))[0].permit is None
        await store.grant([permit(A, 1)])
        assert await store.granted() == []


async def test_a_permit_that_ended_is_wanted_again(url: str) -> None:
    """A node that still waits after its permit's end is back in the queue, and keeps its place in it."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), waiting=waiting(Wait.PERMIT))], fence)
        await store.grant([permit(A, 1, until=NOW + 10.0)])
        assert await store.wanted() == []
        await store.commit([change(A, waiting=waiting(Wait.PERMIT), next_due_at=NOW + 9.0)], fence)
        assert await store.wanted() == []
        await store.commit([change(A, waiting=waiting(Wait.PERMIT), next_due_at=NOW + 12.0)], fence)
        assert await store.wanted() == [(A, 1)]


async def test_requests_are_numbered_and_read_in_order(url: str) -> None:
    """Appended by anyone; a reader asks for what came after the last it saw."""
    async with site_at(url) as store:
        first = await store.ask("confirm", A, {"step": "cable", "by": "Zoë"}, NOW)
        second = await store.ask("retry", B, {}, NOW + 1.0)
        assert second > first
        everything = await store.asked(0)
        assert [(one.id, one.kind, one.subject, dict(one.body), one.made_at) for one in everything] == [
            (first, "confirm", A, {"step": "cable", "by": "Zoë"}, NOW),
            (second, "retry", B, {}, NOW + 1.0),
        ]
        assert await store.asked(first) == everything[1:]


@pytest.mark.parametrize(("paused", "expected"), [(A, {A}), (Subject("rack:r0"), {A, B}), (SITE, {A, B, node("a1-0"), SITE})])
async def test_a_pause_holds_its_subject_its_rack_or_the_site_until_resumed(url: str, paused: Subject, expected: set[Subject]) -> None:
    """Each is resumed by itself; the last word counts."""
    everyone = [A, B, node("a1-0"), SITE]
    async with site_at(url, racks=2) as store:
        for kind, held in (("pause", expected), ("pause", expected), ("resume", set()), ("pause", expected)):
            await store.ask(kind, paused, {}, NOW)
            assert {rows.subject for rows in await store.load(everyone) if rows.paused} == held


async def test_resuming_the_site_leaves_a_node_paused_by_itself(url: str) -> None:
    """Who paused one machine to work at it is not overruled by accident."""
    async with site_at(url) as store:
        await store.ask("pause", A, {}, NOW)
        await store.ask("pause", SITE, {}, NOW)
        await store.ask("resume", SITE, {}, NOW)
        assert [rows.paused for rows in await store.load([A, B])] == [True, False]


@pytest.mark.parametrize(("about", "woken"), [(A, 1), (Subject("rack:r0"), 2), (SITE, 5), (node("ghost"), 0)])
async def test_a_request_wakes_whom_it_concerns(url: str, about: Subject, woken: int) -> None:
    """One node, a rack's nodes, or everything (two racks of two nodes, and the site itself)."""
    async with site_at(url, racks=2) as store:
        for shard, names in {"r0": ("a0-0", "a0-1"), "r1": ("a1-0", "a1-1")}.items():
            await store.commit([change(node(name), next_due_at=NOW + 100.0) for name in names], await fence_of(store, shard))
        await store.commit([change(SITE, next_due_at=NOW + 100.0)], await fence_of(store, "@site"))
        await store.ask("retry", about, {}, NOW + 50.0)
        assert len(await store.due(["r0", "r1", "@site"], NOW + 50.0, 10)) == woken
