"""Something that serves, in a thread with an event loop of its own, for tests of commands that run theirs."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def listening(server: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What the server's own block gives, once it listens; its failure to start is raised here."""
    ready, done = threading.Event(), threading.Event()
    found: list[T | BaseException] = []

    async def serve() -> None:
        try:
            async with server as opened:
                found.append(opened)
                ready.set()
                await asyncio.to_thread(done.wait)
        except BaseException as error:
            found.insert(0, error)
            ready.set()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(20)
        if isinstance(found[0], BaseException):
            raise found[0]
        yield found[0]
    finally:
        done.set()
        thread.join()
