"""Work that blocks, off the event loop, and never left behind: a disk is closed only after the last thread that writes to it."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_POOL = ThreadPoolExecutor(max_workers=16, thread_name_prefix="agent")
"""Threads come with the work: an agent that only polls has none."""


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The work's result. When the caller is cancelled, work that has begun is awaited first; work that has not is dropped."""
    job = _POOL.submit(work, *args, **kwargs)
    try:
        return await asyncio.wrap_future(job)
    except asyncio.CancelledError:
        while not job.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([asyncio.wrap_future(job)])
        raise


async def all_or_none(tasks: "list[asyncio.Task[None]]") -> None:
    """Until all are done. When one fails, or the caller is cancelled, the others are cancelled and awaited first."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled() and (cause := task.exception()) is not None:
            raise cause
