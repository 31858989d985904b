"""Pending statements become log entries, in one order, once."""

import asyncio

import pytest

from metalwright.model.errors import InvariantError
from tests.conformance.store_site import change, checkpoint, entry, fence_of, node, opened, site_at, statement

A = node("a0-0")


async def test_appended_statements_are_no_longer_pending(url: str) -> None:
    """Entries, checkpoint and the end of pending are one transaction; the bytes come back exactly."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, statements=tuple(statement(f"k{number}", A) for number in range(3)))], fence)
        entries = [entry(0, "k0", A), entry(1, "k1", A)]
        assert await store.append(entries, checkpoint(2), 0)
        assert (await store.size(), await store.checkpoint()) == (2, checkpoint(2))
        assert await store.entries(0, 10) == entries
        assert await store.entries(1, 2) == entries[1:]
        assert [one.key for one in await store.pending(10)] == ["k2"]


async def test_a_statement_that_is_in_the_log_is_not_made_again(url: str) -> None:
    """Its key stays taken for as long as the log is."""
    async with site_at(url) as store:
        fence = await fence_of(store)
        await store.commit([change(A, statements=(statement("k0", A),))], fence)
        await store.append([entry(0, "k0", A), entry(1, "first-record", A)], checkpoint(2), 0)
        await store.commit([change(A, statements=(statement("k0", A), statement("first-record", A)))], fence)
        assert await store.pending(10) == []


async def test_a_log_that_grew_meanwhile_takes_nothing(url: str) -> None:
    """A sequencer that lost its place is told so and changes nothing."""
    async with site_at(url) as store:
        await store.append([entry(0, "k0", A)], checkpoint(1), 0)
        assert not await store.append([entry(0, "other", A)], checkpoint(1), 0)
        assert await store.entries(0, 9) == [entry(0, "k0", A)]
        assert await store.append([], checkpoint(1), 1)


async def test_of_sequencers_at_the_same_time_exactly_one_appends(url: str) -> None:
    """Whoever races for the same place, the log has one entry there."""
    async with site_at(url) as store, opened(url) as other:
        for size in range(3):
            answers = await asyncio.gather(
                *(
                    (store, other)[number % 2].append([entry(size, f"k{size}-{number}", A)], checkpoint(size + 1), size)
                    for number in range(4)
                )
            )
            assert sorted(answers) == [False, False, False, True]
            assert await store.entries(size, size + 1) == [entry(size, f"k{size}-{answers.index(True)}", A)]


@pytest.mark.parametrize(("indices", "size"), [((1,), 2), ((0, 2), 3), ((0,), 2), ((0, 1), 1)])
async def test_entries_with_a_hole_are_refused(url: str, indices: tuple[int, ...], size: int) -> None:
    """The log has no gaps and no checkpoint of another size; nothing is written."""
    async with site_at(url) as store:
        with pytest.raises(InvariantError):
            await store.append([entry(index, f"k{index}", A) for index in indices], checkpoint(size), 0)
        assert await store.size() == 0


async def test_one_key_cannot_be_logged_twice(url: str) -> None:
    """A doubled record is our bug; the log keeps its size."""
    async with site_at(url) as store:
        await store.append([entry(0, "k0", A)], checkpoint(1), 0)
        with pytest.raises(InvariantError):
            await store.append([entry(1, "k0", A)], checkpoint(2), 1)
        assert (await store.size(), await store.checkpoint()) == (1, checkpoint(1))
