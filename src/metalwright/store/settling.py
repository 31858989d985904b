"""Waiting for a transaction that is under way: it is never broken off in its middle, whatever happens to the task that asked for it."""

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


async def settled(under_way: "asyncio.Future[T]") -> T:
    """The result, once there is one. If this task is cancelled meanwhile, that counts when the outcome is settled, not before: whoever
    looks afterwards sees all of the transaction or nothing."""
    cancelled: asyncio.CancelledError | None = None
    while not under_way.done():
        try:
            await asyncio.wait([under_way])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        looked_at(under_way)
        raise cancelled
    return under_way.result()


def looked_at(done: "asyncio.Future[Any]") -> None:
    """Its error, if any, needs no complaint of the event loop that nobody asked for it."""
    if not done.cancelled():
        done.exception()
