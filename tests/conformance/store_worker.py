"""What runs in processes of its own in the store's tests. Each says one line per event, for the test to wait on; a test kills, freezes
and races them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol

from sqlalchemy import event
from sqlalchemy.engine import Engine

from metalwright.model.errors import FencedError, InvariantError, MetalwrightError, TemporaryError
from metalwright.model.evidence import LogEntry
from metalwright.model.ids import Subject, WorkerId
from metalwright.ports import Fence, NodeChange
from metalwright.store import SqlStore
from tests.conformance.store_site import NOW, change, checkpoint, claim_of, entry, grant, node, opened, order, run, statement

LEASE_S = 2.0
RENEW_S = 0.4
TOKENS = 30


class Ear(Protocol):
    """The test's end of the pipe."""

    def send(self, words: Any, /) -> None: ...
    def recv(self) -> Any: ...


_ears: list[Ear] = []


def say(*words: object) -> None:
    _ears[0].send(" ".join(map(str, words)))


async def worker(store: SqlStore, name: str) -> None:
    """Renews, turns everything it holds, again and again. Every order carries worker and epoch in its reason."""
    fences: list[Fence] = []
    renewed = 0.0
    while True:
        try:
            if time.monotonic() - renewed > RENEW_S:
                renewed = time.monotonic()
                fences = list(await store.claim(WorkerId(name), LEASE_S))
                say("holds", *sorted(fence.shard for fence in fences))
            for fence in fences:
                await _turn(store, fence)
        except FencedError:
            fences = []
            say("fenced")
        except TemporaryError as error:
            say("temporary", error.message)
        await asyncio.sleep(0.005)


async def _turn(store: SqlStore, fence: Fence) -> None:
    due = [subject for _, subject in await store.due([fence.shard], 1e12, 100)]
    numbers = iter(await store.next_order_numbers(len(due)) if due else ())
    changes = []
    for rows in await store.load(due):
        parent = rows.order.number if rows.order else None
        made = order(number := next(numbers), rows.subject, parent=parent)
        made = replace(made, body=replace(made.body, reason=f"{fence.epoch} {fence.worker}"))
        changes.append(
            change(
                rows.subject, order=made, runs=(run(number, epoch=fence.epoch),), statements=(statement(f"order/{number}", rows.subject),)
            )
        )
    lost = await store.commit(changes, fence)
    say("turned", fence.shard, fence.epoch, *(["lost", *lost] if lost else []))


async def swapper(store: SqlStore, name: str) -> None:
    """Races for the head of one subject, with the fence that everybody shares."""
    fence = Fence(shard="r0", worker=WorkerId("shared"), epoch=1)
    subject, won = node("a0-0"), 0
    await _at_the_start()
    while won < 20:
        (rows,) = await store.load([subject])
        (number,) = await store.next_order_numbers(1)
        made = order(number, subject, parent=rows.order.number if rows.order else None)
        key = f"{name}/{number}"
        won += not await store.commit([change(subject, order=made, statements=(statement(key, subject),))], fence)
    say("won", won)


async def claimer(store: SqlStore, name: str) -> None:
    """Claims every token; says which it got."""
    await _at_the_start()
    for token in range(TOKENS):
        claimed = claim_of(grant(1, token=f"t{token}"), f"{name}-{token}")
        row = await store.claim_grant(f"t{token}", claimed, NOW + 1.0)
        if row is not None and row.session_hash == claimed.session_hash and not row.revoked:
            say("got", token)
    say("done")


async def sequencer(store: SqlStore, name: str) -> None:
    """Moves everything pending into the log, a few at a time; says how often it lost its place."""
    await _at_the_start()
    lost = 0
    while pending := await store.pending(7):
        size = await store.size()
        entries = [replace(entry(size + place, one.key, one.about), envelope=name.encode()) for place, one in enumerate(pending)]
        lost += not await _append(store, entries, size)
    say("lost", lost)


async def _append(store: SqlStore, entries: list[LogEntry], size: int) -> bool:
    try:
        return await store.append(entries, checkpoint(size + len(entries)), size)
    except InvariantError:
        return False  # what was pending when it was read is in the log by now: the size had grown already when it was read


async def committer(store: SqlStore, name: str) -> None:
    """Commits batch after batch over all nodes of the rack, saying what is about to be written."""
    (fence,) = [one for one in await store.claim(WorkerId(name), 3600.0) if one.shard == "r0"]
    subjects = sorted(subject for _, subject in await store.due(["r0"], 1e12, 1000))
    heads: dict[Subject, int | None] = {rows.subject: rows.order and rows.order.number for rows in await store.load(subjects)}
    say("ready")
    while True:
        try:
            numbers = await store.next_order_numbers(len(subjects))
            batch = [_batch_change(subject, number, heads[subject]) for subject, number in zip(subjects, numbers, strict=True)]
            await store.commit(batch, fence)
        except TemporaryError as error:
            say("temporary", error.message)
            return
        heads = dict(zip(subjects, numbers, strict=True))
        say("committed")


def _batch_change(subject: Subject, number: int, parent: int | None) -> NodeChange:
    made = order(number, subject, parent=parent)
    return change(
        subject,
        order=made,
        runs=(run(number),),
        grants=(grant(number, token=f"t{number}"),),
        statements=(statement(f"s/{number}", subject),),
    )


async def sleeper(store: SqlStore, name: str) -> None:
    """Claims for a second, and freezes in the midst of a commit, as a stopped process does, until the test lets it go on."""
    (fence,) = [one for one in await store.claim(WorkerId(name), 1.0) if one.shard == "r0"]
    frozen = False

    def freeze(connection: Any, cursor: Any, text: str, *rest: Any) -> None:
        nonlocal frozen
        if text.startswith("INSERT INTO orders") and not frozen:
            frozen = True
            say("inside")
            _ears[0].recv()

    event.listen(Engine, "before_cursor_execute", freeze)
    try:
        await store.commit([change(node("a0-0"), order=order(1, node("a0-0")))], fence)
    except MetalwrightError as error:
        say("refused", type(error).__name__)
    say("done")


async def _at_the_start() -> None:
    """Everybody waits for the test to say go."""
    say("ready")
    await asyncio.to_thread(_ears[0].recv)


MODES: dict[str, Callable[[SqlStore, str], Awaitable[None]]] = {
    "worker": worker,
    "swapper": swapper,
    "claimer": claimer,
    "sequencer": sequencer,
    "committer": committer,
    "sleeper": sleeper,
}


def begin(mode: str, url: str, name: str, ear: Ear) -> None:
    """The process: one of `MODES` over one store."""
    _ears.append(ear)

    async def work() -> None:
        async with opened(url) as store:
            await MODES[mode](store, name)

    asyncio.run(work())
