"""Wakes long polls: an event per node, set by the store's hints. A hint may be missed; polling is the truth."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator

from metalwright.model.ids import NodeName, Subject, node_of


class Hints:
    """Feed it with `follow`, wait with `wait`."""

    def __init__(self) -> None:
        self._waiting: dict[NodeName, set[asyncio.Event]] = defaultdict(set)

    async def follow(self, changes: AsyncIterator[Subject]) -> None:
        """For ever."""
        async for subject in changes:
            name = node_of(subject)
            for event in tuple(self._waiting.get(name, ())) if name else ():
                event.set()

    def wake_all(self) -> None:
        """The listener stops: nobody waits any longer."""
        for events in self._waiting.values():
            for event in events:
                event.set()

    async def wait(self, node: NodeName, seconds: float) -> None:
        """Until something changed at the node, or the time is up."""
        event = asyncio.Event()
        self._waiting[node].add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting[node].discard(event)
            if not self._waiting[node]:
                del self._waiting[node]
