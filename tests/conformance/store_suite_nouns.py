"""Whatever a noun of the model holds, it comes back: a field added to the model and not to the store fails here."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metalwright.model.boot import BootGrant
from metalwright.model.hardware import HardwareFacts
from metalwright.model.ids import Digest, NodeName, OperationId, OrderNumber, Subject
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.work import Operation, Permit, StepRun, WaitingFor
from metalwright.ports import NodeRows
from metalwright.store import SqlStore
from tests.conformance.any_noun import any_noun
from tests.conformance.store_site import NOW, change, fence_of, hardware, node, opened, order, site_at

NODES = 8
SUBJECTS = [node(f"a0-{unit}") for unit in range(NODES)]
LATER = count()
"""Seconds after NOW: each example looks later than the last one in the same database."""

FEW = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
Noun = TypeVar("Noun")


def some(kind: type[Noun]) -> st.SearchStrategy[list[Noun]]:
    """One noun for each of the nodes."""
    return st.lists(any_noun(kind), min_size=NODES, max_size=NODES)


async def with_orders(store: SqlStore, parts: Callable[[int, int], dict[str, Any]]) -> list[int]:
    """A new order for every node, with the parts for (node's index, order's number); returns the numbers."""
    fence = await fence_of(store)
    numbers = list(await store.next_order_numbers(NODES))
    changes = [
        change(rows.subject, order=order(number, rows.subject, parent=rows.order and rows.order.number), **parts(index, number))
        for index, (rows, number) in enumerate(zip(await store.load(SUBJECTS), numbers, strict=True))
    ]
    assert await store.commit(changes, fence) == []
    return numbers


async def read_back(url: str) -> Sequence[NodeRows]:
    """What another process, with an empty memory, finds."""
    async with opened(url) as store:
        return await store.load(SUBJECTS)


@FEW
@given(nouns=some(StepRun))
def test_runs_come_back(url: str, nouns: list[StepRun]) -> None:
    """Every field of a run."""

    async def story() -> None:
        async with site_at(url, nodes=NODES) as store:
            await with_orders(store, lambda index, number: {"runs": (replace(nouns[index], order=OrderNumber(number)),)})
        for rows, noun in zip(await read_back(url), nouns, strict=True):
            assert rows.order is not None and rows.runs == (replace(noun, order=rows.order.number),)

    asyncio.run(story())


@FEW
@given(nouns=some(Operation))
def test_operations_come_back(url: str, nouns: list[Operation]) -> None:
    """Every field of an operation, whichever step it is for."""

    def own(index: int, number: int) -> Operation:
        return replace(nouns[index], id=OperationId(f"{number}/0/1"), subject=SUBJECTS[index])

    async def story() -> None:
        async with site_at(url, nodes=NODES) as store:
            numbers = await with_orders(store, lambda index, number: {"operations": (own(index, number),)})
        found = [rows.operations for rows in await read_back(url)]
        assert found == [(own(index, number),) for index, number in enumerate(numbers)]

    asyncio.run(story())


@FEW
@given(nouns=some(BootGrant))
def test_grants_come_back(url: str, nouns: list[BootGrant]) -> None:
    """Every field of a grant."""

    def own(index: int, number: int) -> BootGrant:
        unique = f"{number}/0/1"
        name = NodeName(f"a0-{index}")
        return replace(nouns[index], id=unique, order=OrderNumber(number), node=name, token_hash=unique, session_hash=unique)

    async def story() -> None:
        async with site_at(url, nodes=NODES) as store:
            numbers = await with_orders(store, lambda index, number: {"grants": (own(index, number),)})
        found = [rows.grants for rows in await read_back(url)]
        assert found == [(own(index, number),) for index, number in enumerate(numbers)]

    asyncio.run(story())


@FEW
@given(nouns=some(WaitingFor))
def test_why_something_waits_comes_back(url: str, nouns: list[WaitingFor]) -> None:
    """Every field of it."""

    async def story() -> None:
        async with site_at(url, nodes=NODES) as store:
            await with_orders(store, lambda index, number: {"waiting": nouns[index]})
        assert [rows.waiting for rows in await read_back(url)] == nouns

    asyncio.run(story())


@FEW
@given(nouns=some(GateVerdict))
def test_verdicts_come_back(url: str, nouns: list[GateVerdict]) -> None:
    """Every finding and citation of a verdict, its digest and its colour."""

    def own(index: int) -> GateVerdict:
        return replace(nouns[index], subject=SUBJECTS[index], gate=Gate.INVENTORY)

    async def story() -> None:
        async with site_at(url, nodes=NODES) as store:
            digests = {Gate.INVENTORY: Digest("sha256:v")}
            await with_orders(store, lambda index, number: {"verdicts": (own(index),), "verdict_digests": digests})
        async with opened(url) as store:
            for index, rows in enumerate(await store.load(SUBJECTS)):
                mark = rows.verdicts[Gate.INVENTORY]
                assert (mark.digest, mark.colour) == ("sha256:v", nouns[index].colour)
                assert await store.verdicts(rows.subject) == [own(index)]

    asyncio.run(story())


@FEW
@given(nouns=some(Permit))
def test_permits_come_back(url: str, nouns: list[Permit]) -> None:
    """Every field of a permit."""

    async def story() -> None:
        async with site_at(url, nodes=NODES) as store:
            numbers = await with_orders(store, lambda index, number: {})
            granted = [
                replace(noun, subject=Subject(subject), order=OrderNumber(number))
                for noun, subject, number in zip(nouns, SUBJECTS, numbers, strict=True)
            ]
            await store.grant(granted)
            assert await store.granted() == granted
        assert [rows.permit for rows in await read_back(url)] == granted

    asyncio.run(story())


@FEW
@given(nouns=some(HardwareFacts))
def test_inventories_come_back(url: str, nouns: list[HardwareFacts]) -> None:
    """Every part of an inventory."""
    at = NOW + next(LATER)
    looks = [hardware(subject, facts, at=at) for subject, facts in zip(SUBJECTS, nouns, strict=True)]

    async def story() -> None:
        async with site_at(url, nodes=NODES) as store:
            await store.record(looks, None)
        for rows, look in zip(await read_back(url), looks, strict=True):
            assert [(found.seen_at, found.body) for found in rows.observations] == [(at, look.body)]

    asyncio.run(story())
