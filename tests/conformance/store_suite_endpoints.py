"""Boot grants and operations, as the listeners use them."""

import asyncio
from dataclasses import replace

import pytest

from metalwright.model.ids import NodeName
from metalwright.model.work import OperationState
from tests.conformance.store_site import NOW, change, claim_of, fence_of, grant, node, opened, operation, order, site_at

A = node("a0-0")
NAME = NodeName("a0-0")
IN_TIME = NOW + 1.0


async def test_a_grant_is_claimed_once(url: str) -> None:
    """The first claim gets a session; the machine is woken."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), grants=(grant(1),), next_due_at=float("inf"))], fence)
        row = await store.claim_grant("token", claim_of(grant(1), "s1"), IN_TIME)
        assert row == claim_of(grant(1), "s1")
        assert await store.session("s1") == row
        assert await store.grants_of(NAME) == [row]
        assert (await store.load([A]))[0].grants == (row,)
        assert ("r0", A) in await store.due(["r0"], NOW, 10)


async def test_a_second_claim_revokes_both(url: str) -> None:
    """Whoever came first, a token claimed twice is worth nothing to anyone; every further claim is counted."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), grants=(grant(1),))], fence)
        await store.claim_grant("token", claim_of(grant(1), "s1"), IN_TIME)
        for conflicts in (1, 2):
            row = await store.claim_grant("token", claim_of(grant(1), f"thief{conflicts}"), IN_TIME)
            assert row is not None
            assert (row.session_hash, row.revoked, row.conflicts) == ("s1", True, conflicts)
        assert await store.session("s1") is None
        assert await store.session("thief1") is None


async def test_the_same_claim_again_is_a_lost_answer_and_no_conflict(url: str) -> None:
    """An agent that never heard the answer asks again with the session secret it chose; a claim without any session is another's."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), grants=(grant(1),))], fence)
        first = await store.claim_grant("token", claim_of(grant(1), "s1"), IN_TIME)
        assert await store.claim_grant("token", claim_of(grant(1), "s1"), IN_TIME + 1.0) == first
        row = await store.claim_grant("token", replace(claim_of(grant(1), "s1"), session_hash=None), IN_TIME)
        assert row is not None and (row.conflicts, row.revoked) == (1, True)


async def test_of_claims_at_the_same_time_exactly_one_wins_and_then_none(url: str) -> None:
    """Four listeners race for one token: one answer is a live session, every other one says revoked."""
    async with site_at(url) as store, opened(url) as other:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), grants=(grant(1),))], fence)
        answers = await asyncio.gather(
            *((store, other)[number % 2].claim_grant("token", claim_of(grant(1), f"s{number}"), IN_TIME) for number in range(4))
        )
        rows = [row for row in answers if row is not None]
        assert len({row.session_hash for row in rows}) == 1
        assert sorted(row.conflicts for row in rows) == [0, 1, 2, 3]
        assert [row.revoked for row in sorted(rows, key=lambda row: row.conflicts)] == [False, True, True, True]
        assert await store.session(str(rows[0].session_hash)) is None


@pytest.mark.parametrize("when", [NOW - 0.1, NOW + 600.0])
async def test_outside_its_time_a_token_opens_nothing(url: str, when: float) -> None:
    """Before our own power-on and after the expiry a claim changes nothing, and is no conflict."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), grants=(grant(1),))], fence)
        assert await store.claim_grant("token", claim_of(grant(1), "s1"), when) == grant(1)
        assert await store.session("s1") is None


async def test_an_unknown_token_is_nothing(url: str) -> None:
    """No row, no conflict, no session."""
    async with site_at(url) as store:
        assert await store.claim_grant("guess\x00", claim_of(grant(1), "s1"), IN_TIME) is None
        assert await store.session("guess\ud800") is None
        assert await store.grants_of(NodeName("ghost\x00")) == []


async def test_the_newest_grants_of_a_node_are_shown_oldest_first(url: str) -> None:
    """Years of boots do not make an answer longer."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        made = tuple(grant(1, id=f"1/0/{attempt}", token=f"t{attempt}", opens_at=NOW + attempt) for attempt in range(40))
        await store.commit([change(A, order=order(1, A), grants=made)], fence)
        shown = await store.grants_of(NAME)
        assert shown == list(made[-len(shown) :])
        assert 4 <= len(shown) < 40


async def test_a_node_is_handed_its_open_operation(url: str) -> None:
    """Ordered or running of the present order; nothing once it ended."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        assert await store.operation_for(NAME) is None
        await store.commit([change(A, order=order(1, A), operations=(operation(1, A),))], fence)
        assert await store.operation_for(NAME) == operation(1, A)
        running = operation(1, A, state=OperationState.RUNNING, units_done=1)
        await store.progress(running, "boot-1")
        assert await store.operation_for(NAME) == running
        await store.progress(operation(1, A, state=OperationState.DONE, units_done=2), "boot-1")
        assert await store.operation_for(NAME) is None


async def test_an_older_orders_operation_is_not_handed_out_but_a_running_one_hears_its_end(url: str) -> None:
    """What was never begun for a superseded order is never begun; what runs is told that it is no longer wanted."""
    async with site_at(url, nodes=2) as store:
        fence = await fence_of(store)
        b = node("a0-1")
        await store.commit(
            [change(A, order=order(1, A), operations=(operation(1, A),)), change(b, order=order(2, b), operations=(operation(2, b),))],
            fence,
        )
        await store.progress(operation(2, b, state=OperationState.RUNNING), "boot-1")
        gone = operation(2, b, cancel_wanted=True)
        await store.commit([change(A, order=order(3, A, parent=1)), change(b, order=order(4, b, parent=2), operations=(gone,))], fence)
        assert await store.operation_for(NAME) is None
        told = await store.operation_for(NodeName("a0-1"))
        assert told is not None and told.cancel_wanted and told.id == "2/0/1"
        await store.commit([change(b, operations=(operation(4, b),))], fence)
        assert await store.operation_for(NodeName("a0-1")) == operation(4, b)


async def test_progress_of_an_older_generation_is_ignored(url: str) -> None:
    """An agent that was ordered by a worker long gone cannot overwrite what a later one set going."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), operations=(operation(1, A, generation=5),))], fence)
        await store.progress(operation(1, A, generation=4, state=OperationState.RUNNING, units_done=9), "old")
        assert await store.operation_for(NAME) == operation(1, A, generation=5)


async def test_an_operation_that_ended_stays_ended(url: str) -> None:
    """A late report of progress does not bring it back; its end wakes the node."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), operations=(operation(1, A),), next_due_at=float("inf"))], fence)
        await store.progress(operation(1, A, state=OperationState.RUNNING), "boot-1")
        assert ("r0", A) not in await store.due(["r0"], NOW + 1e9, 10)
        failed = operation(1, A, state=OperationState.FAILED, detail="disk gone")
        await store.progress(failed, "boot-1")
        await store.progress(operation(1, A, state=OperationState.RUNNING, units_done=1), "boot-1")
        assert (await store.load([A]))[0].operations == (failed,)
        assert ("r0", A) in await store.due(["r0"], NOW, 10)
