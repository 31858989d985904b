"""What turns read and write: heads, fences, batches, observations, wakes."""

import asyncio
from typing import Any

import pytest

from metalwright.model.errors import FencedError, InputError, InvariantError
from metalwright.model.hardware import Gap, PowerState
from metalwright.model.judgement import Colour, Gate
from metalwright.model.observation import Kind, Observation, Witness
from metalwright.model.work import OperationState, StepState, Wait
from metalwright.ports import Fence, NodeChange, NodeRows
from tests.conformance.store_site import (
    NOW,
    change,
    counting_statements,
    fence_of,
    grant,
    hardware,
    judged,
    node,
    opened,
    operation,
    order,
    power,
    run,
    site_at,
    statement,
    verdict,
    waiting,
)

A, B = node("a0-0"), node("a0-1")


# -- heads and batches ---------------------------------------------------------------------------------------------------------


async def test_a_first_order_becomes_the_head(url: str) -> None:
    """An order without a parent is accepted on a subject without a head, and read back by another process."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        assert await store.commit([change(A, order=order(1, A), runs=(run(1),))], fence) == []
    async with opened(url) as store:
        (rows,) = await store.load([A])
        assert (rows.order, rows.runs, rows.rounds) == (order(1, A), (run(1),), {(Gate.OS, "sha256:wish"): 1})


async def test_a_lost_compare_and_swap_writes_nothing_of_its_subject(url: str) -> None:
    """The loser is named and leaves no trace; the others of the batch are written."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A)), change(B, order=order(2, B))], fence)
        stale = judged(
            A, verdict(A), order=order(3, A), runs=(run(3),), operations=(operation(3, A),), grants=(grant(3),),
            statements=(statement("a", A),), waiting=waiting(Wait.BMC), next_due_at=NOW + 999.0,
        )  # fmt: skip
        before = (await store.load([A]))[0]
        assert await store.commit([stale, change(B, order=order(4, B, parent=2), statements=(statement("b", B),))], fence) == [A]
        after, other = await store.load([A, B])
        assert after == before
        assert [one.number for one in await store.orders(A)] == [1]
        assert other.order == order(4, B, parent=2)
        assert [one.key for one in await store.pending(10)] == ["b"]


async def test_a_batch_is_written_whole_or_not_at_all(url: str) -> None:
    """A change that cannot be written takes the whole batch with it."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(B, order=order(1, B))], fence)
        twice = change(B, order=order(1, B, parent=1))
        with pytest.raises(InvariantError):
            await store.commit([change(A, order=order(2, A), statements=(statement("a", A),)), twice], fence)
        assert (await store.load([A]))[0].order is None
        assert await store.pending(10) == []


async def test_a_subject_nobody_declared_is_refused(url: str) -> None:
    """A change about an unknown subject is our bug, and nothing is written."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        with pytest.raises(InvariantError, match="no row"):
            await store.commit([change(A, order=order(1, A)), change(node("ghost"))], fence)
        assert (await store.load([A]))[0].order is None


@pytest.mark.parametrize("wrong", [{"epoch": 7}, {"worker": "w2"}, {"shard": "r1"}])
async def test_a_write_with_a_wrong_fence_is_refused(url: str, wrong: dict[str, Any]) -> None:
    """Another epoch, another worker or another rack: nothing of the batch or of the observations is written."""
    async with site_at(url, racks=2) as store:
        right = await fence_of(store)
        values: dict[str, Any] = {"shard": right.shard, "worker": right.worker, "epoch": right.epoch} | wrong
        fence = Fence(**values)
        with pytest.raises(FencedError):
            await store.commit([change(A, order=order(1, A))], fence)
        if "shard" not in wrong:
            with pytest.raises(FencedError):
                await store.record([power(A)], fence)
        (rows,) = await store.load([A])
        assert (rows.order, rows.observations) == (None, ())


async def test_only_the_head_orders_rows_are_loaded(url: str) -> None:
    """Runs, operations and grants of superseded orders are not a turn's business; its rounds still count them."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        first = change(A, order=order(1, A), runs=(run(1),), operations=(operation(1, A),), grants=(grant(1),))
        second = change(A, order=order(2, A, parent=1), runs=(run(2), run(2, attempt=2)))
        await store.commit([first], fence)
        await store.commit([second], fence)
        (rows,) = await store.load([A])
        assert (rows.runs, rows.operations, rows.grants) == ((run(2), run(2, attempt=2)), (), ())
        assert rows.rounds == {(Gate.OS, "sha256:wish"): 2}
        assert rows.order is not None and rows.order.number == 2


async def test_runs_are_overwritten_and_grants_are_not(url: str) -> None:
    """A run's state moves on in place; a grant, once given, never changes under the machine that boots with it."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), runs=(run(1),), grants=(grant(1, token="t"),))], fence)
        proven = run(1, state=StepState.PROVEN, ended_at=NOW + 5.0, detail="seen")
        await store.commit([change(A, runs=(proven,), grants=(grant(1, token="other"),))], fence)
        (rows,) = await store.load([A])
        assert (rows.runs, rows.grants) == ((proven,), (grant(1, token="t"),))


async def test_a_turn_changes_only_the_wish_and_the_generation_of_an_operation(url: str) -> None:
    """Progress belongs to the agent: a turn that read it a moment ago does not put it back."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), operations=(operation(1, A),))], fence)
        moved = operation(1, A, state=OperationState.RUNNING, units_done=5, units_total=9, detail="writing")
        await store.progress(moved, "boot-1")
        await store.commit([change(A, operations=(operation(1, A, cancel_wanted=True, generation=3),))], fence)
        (found,) = (await store.load([A]))[0].operations
        assert (found.units_done, found.detail, found.cancel_wanted, found.generation) == (5, "writing", True, 3)


async def test_waiting_is_kept_or_replaced_as_the_change_says(url: str) -> None:
    """A turn replaces why its subject waits; the outcome of an act leaves it."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, waiting=waiting(Wait.BMC))], fence)
        await store.commit([change(A, keep_waiting=True)], fence)
        assert (await store.load([A]))[0].waiting == waiting(Wait.BMC)
        await store.commit([change(A)], fence)
        assert (await store.load([A]))[0].waiting is None


async def test_statements_are_made_once_per_key(url: str) -> None:
    """The same statement twice, in one batch or in two, is one pending record, in the order of making."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, statements=(statement("k1", A), statement("k1", A), statement("k2", A)))], fence)
        await store.commit([change(A, statements=(statement("k2", A), statement("k3", A)))], fence)
        assert await store.pending(10) == [statement("k1", A), statement("k2", A), statement("k3", A)]
        assert [one.key for one in await store.pending(2)] == ["k1", "k2"]


async def test_loading_keeps_the_order_asked_for(url: str) -> None:
    """Rows come back in the order of the subjects, without those that do not exist."""
    async with site_at(url) as store:
        assert [rows.subject for rows in await store.load([B, node("ghost"), A])] == [B, A]
        assert await store.load([]) == []


def everything(rows: NodeRows, number: int) -> NodeChange:
    """A change that writes to every table a turn writes to."""
    subject = rows.subject
    return judged(
        subject, verdict(subject, cites=rows.observations), order=order(number, subject), runs=(run(number),),
        operations=(operation(number, subject),), statements=(statement(str(number), subject),), waiting=waiting(Wait.BMC),
        grants=(grant(number, subject, token=str(number)),), release_permit=True,
    )  # fmt: skip


async def test_the_number_of_statements_does_not_grow_with_the_batch(url: str) -> None:
    """Ten nodes and two hundred take equally many statements, to record, to load and to commit."""
    counts = []
    async with site_at(url, nodes=200) as store:
        fence = await fence_of(store)
        subjects = [node(f"a0-{unit}") for unit in range(200)]
        for batch in (subjects[:10], subjects[10:]):
            numbers = iter(await store.next_order_numbers(len(batch)))
            with counting_statements() as sent:
                await store.record([look for subject in batch for look in (power(subject), hardware(subject))], fence)
                loaded = await store.load(batch)
                changes = [everything(rows, next(numbers)) for rows in loaded]
                assert await store.commit(changes, fence) == []
            counts.append(len([text for text in sent if "pg_notify" not in text and not text.startswith("BEGIN")]))
    assert abs(counts[0] - counts[1]) <= 3  # the first batch also looks for unused bodies, once in ten minutes
    assert counts[1] < 40


# -- order numbers ---------------------------------------------------------------------------------------------------------------


async def test_order_numbers_are_unique_in_the_site(url: str) -> None:
    """Whoever asks at the same time, no number is given twice; the first is 1."""
    async with opened(url) as store, opened(url) as other:
        ranges = await asyncio.gather(*((store, other)[turn % 2].next_order_numbers(1 + turn % 3) for turn in range(12)))
        numbers = sorted(number for some in ranges for number in some)
        assert numbers == list(range(1, len(numbers) + 1))
        with pytest.raises(InputError):
            await store.next_order_numbers(0)


# -- observations ----------------------------------------------------------------------------------------------------------------


async def test_a_newer_look_replaces_an_older_one_and_never_the_reverse(url: str) -> None:
    """Looks may arrive in any order; the latest stands."""
    async with site_at(url) as store:
        await store.record([power(A, at=NOW + 5.0, to=PowerState.OFF)], None)
        await store.record([power(A, at=NOW + 4.0, to=PowerState.ON), power(A, at=NOW + 3.0)], None)
        (look,) = (await store.load([A]))[0].observations
        assert (look.seen_at, look.body) == (NOW + 5.0, power(A, to=PowerState.OFF).body)
        await store.record([power(A, at=NOW + 7.0), power(A, at=NOW + 6.0, to=PowerState.OFF)], None)
        (look,) = (await store.load([A]))[0].observations
        assert (look.seen_at, look.body) == (NOW + 7.0, power(A).body)


async def test_a_failed_look_does_not_repeat_the_last_good_body(url: str) -> None:
    """What could not be read now is absent, with the reason, the class and the gaps."""
    async with site_at(url) as store:
        await store.record([power(A)], None)
        failed = Observation(
            subject=A, kind=Kind.BMC_POWER, witness=Witness.OUT_OF_BAND, seen_at=NOW + 1.0, body=None, failure="no answer",
            failure_class="timeout", gaps=(Gap(what="gpus", why="404"),),
        )  # fmt: skip
        await store.record([failed], None)
        assert (await store.load([A]))[0].observations == (failed,)


async def test_looks_of_different_kinds_and_witnesses_stand_side_by_side(url: str) -> None:
    """Identity is subject, kind and witness; each body carries the digest of its stored bytes."""
    async with site_at(url) as store:
        await store.record([power(A), hardware(A), power(B)], None)
        first, second = await store.load([A, B])
        assert [look.kind for look in first.observations] == [Kind.BMC_HARDWARE, Kind.BMC_POWER]
        assert len({look.digest for look in first.observations + second.observations}) == 3


async def test_an_unchanged_body_is_not_written_again(url: str) -> None:
    """Seeing the same again rewrites the narrow row only."""
    async with site_at(url) as store:
        await store.record([hardware(A)], None)
        with counting_statements() as sent:
            await store.record([hardware(A, at=NOW + 30.0)], None)
        assert not [text for text in sent if "INSERT INTO bodies" in text]
        assert (await store.load([A]))[0].observations[0].seen_at == NOW + 30.0


async def test_a_cited_body_outlives_what_replaced_it_and_an_uncited_one_does_not(url: str) -> None:
    """Evidence can be judged again from the very bytes it cites; what nobody cites is forgotten after an hour."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.record([power(A), power(B)], fence)
        cited, uncited = (rows.observations[0] for rows in await store.load([A, B]))
        await store.commit([judged(A, verdict(A, cites=(cited,)))], fence)
        for later in (1.0, 2000.0, 9000.0):
            await store.record([power(A, at=NOW + later, to=PowerState.OFF), power(B, at=NOW + later, to=PowerState.OFF)], fence)
        assert cited.digest is not None and uncited.digest is not None
        assert await store.body(cited.digest) is not None
        assert await store.body(uncited.digest) is None


async def test_a_body_seen_again_is_not_forgotten(url: str) -> None:
    """Bytes that come and go (power on, off, on) are there whenever they are the last look."""
    async with site_at(url) as store:
        for later, to in ((0.0, PowerState.ON), (1000.0, PowerState.OFF), (2000.0, PowerState.ON), (9000.0, PowerState.ON)):
            await store.record([power(A, at=NOW + later, to=to)], None)
    async with opened(url) as store:
        assert (await store.load([A]))[0].observations[0].body == power(A).body


async def test_hostile_text_is_stored_marked_and_never_breaks_a_batch(url: str) -> None:
    """NUL and lone surrogates from one BMC neither reach the database nor cost the others their looks."""
    async with site_at(url) as store:
        nasty = Observation(
            subject=A,
            kind=Kind.BMC_POWER,
            witness=Witness.OUT_OF_BAND,
            seen_at=NOW,
            body=None,
            failure="a\x00b\ud800c",
            failure_class="error",
        )
        await store.record([nasty, hardware(A), power(B, serial="x\ud800"), hardware(B)], None)
        first, second = await store.load([A, B])
        assert [look.failure for look in first.observations] == ["", "a\ufffdb?c"]
        assert [(look.failure_class, look.body is None) for look in second.observations] == [("", False), ("malformed", True)]


async def test_a_number_too_large_for_a_database_is_our_error(url: str) -> None:
    """No foreign exception comes out, and the store works on."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, order=order(1, A), operations=(operation(1, A),))], fence)
        with pytest.raises(InvariantError):
            await store.progress(operation(1, A, state=OperationState.RUNNING, units_done=10**30), "boot")
        assert await store.size() == 0


# -- due and wakes ---------------------------------------------------------------------------------------------------------------


async def test_only_due_subjects_of_the_asked_shards_come_oldest_first(url: str) -> None:
    """`due` keeps to its shards, its time and its limit."""
    async with site_at(url, racks=2) as store:
        fence = await fence_of(store)
        await store.commit([change(A, next_due_at=NOW + 20.0), change(B, next_due_at=NOW + 10.0)], fence)
        assert [subject for _, subject in await store.due(["r0"], NOW + 15.0, 10)] == [B]
        assert await store.due(["r0"], NOW + 30.0, 10) == [("r0", B), ("r0", A)]
        assert await store.due(["r0"], NOW + 30.0, 1) == [("r0", B)]
        assert {shard for shard, _ in await store.due(["r0", "r1"], NOW + 30.0, 10)} == {"r0", "r1"}
        assert await store.due([], NOW + 30.0, 10) == []


async def test_an_observation_wakes_its_subject(url: str) -> None:
    """What was just seen is judged now, not at the next appointment."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, next_due_at=float("inf")), change(B, next_due_at=float("inf"))], fence)
        await store.record([power(A, at=NOW + 5.0)], fence)
        assert await store.due(["r0"], NOW + 5.0, 10) == [("r0", A)]


async def test_a_wake_during_a_turn_is_not_lost(url: str) -> None:
    """Something recorded between a turn's load and its commit keeps the subject due, whatever the turn decided."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        first, second = await store.load([A, B])
        await store.record([power(A, at=NOW + 1.0)], None)
        late = NOW + 9999.0
        await store.commit([change(A, next_due_at=late, wakes=first.wakes), change(B, next_due_at=late, wakes=second.wakes)], fence)
        assert await store.due(["r0"], NOW + 2.0, 10) == [("r0", A)]


# -- views -----------------------------------------------------------------------------------------------------------------------


async def test_the_board_tells_each_active_subject_in_one_line(url: str) -> None:
    """Colours, order, what is waited for, the operation, and the first red finding in words."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        long = operation(1, A)
        red = judged(A, verdict(A, colour=Colour.RED), order=order(1, A), operations=(long,), waiting=waiting(Wait.IMAGE))
        await store.commit([red, judged(B, verdict(B))], fence)
        board = {row.subject: row for row in await store.board()}
        assert (board[A].colours, board[A].order, board[A].operation) == ({Gate.INVENTORY: "red"}, 1, long)
        assert board[A].waiting == waiting(Wait.IMAGE)
        assert board[A].red == "serial: expected S1, seen S2"
        assert (board[B].colours, board[B].red, board[B].order) == ({Gate.INVENTORY: "green"}, "", None)


async def test_verdicts_and_orders_of_a_subject_are_its_story(url: str) -> None:
    """The last verdict of each gate in the order of the gates; every order ever made, oldest first."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        system, inventory = verdict(A, gate=Gate.OS), verdict(A, colour=Colour.RED)
        await store.commit([judged(A, system, order=order(1, A))], fence)
        await store.commit([judged(A, inventory, order=order(2, A, parent=1))], fence)
        assert await store.verdicts(A) == [inventory, system]
        assert await store.orders(A) == [order(1, A), order(2, A, parent=1)]
        rows = await store.node(A)
        assert rows is not None and rows.verdicts[Gate.INVENTORY].colour is Colour.RED


async def test_a_verdict_without_a_digest_is_refused(url: str) -> None:
    """A turn that could not tell a changed verdict from an old one is our bug."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        with pytest.raises(InvariantError, match="digest"):
            await store.commit([change(A, verdicts=(verdict(A),))], fence)


# -- hints -----------------------------------------------------------------------------------------------------------------------


async def test_a_commit_is_hinted_to_whoever_listens(url: str) -> None:
    """A listener hears the subject of a write soon after it began to listen."""
    async with site_at(url) as store:
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def listen() -> None:
            async for subject in store.changes():
                heard.put_nowait(subject)

        listening = asyncio.create_task(listen())
        try:
            while heard.empty():
                await store.record([power(A)], None)
                await asyncio.sleep(0.02)
            assert heard.get_nowait() == A
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
