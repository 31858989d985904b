"""Hints that something changed: wake whoever waits, sooner than the next poll would. Losing one costs time, never truth."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from metalwright.model.ids import Subject


class Hints:
    """Within one process. `tell` never blocks; every listener gets each subject once, however often it was told meanwhile."""

    def __init__(self) -> None:
        self._listeners: set[_Listener] = set()

    def tell(self, subjects: Iterable[Subject]) -> None:
        """Something about these subjects was written."""
        for listener in self._listeners:
            listener.told.update(dict.fromkeys(subjects))
            listener.event.set()

    def close(self) -> None:
        """End every listener's iteration."""
        for listener in self._listeners:
            listener.is_over = True
            listener.event.set()

    async def listen(self) -> AsyncIterator[Subject]:
        """Subjects as they are told, until the store closes."""
        listener = _Listener()
        self._listeners.add(listener)
        try:
            while not listener.is_over:
                await listener.event.wait()
                listener.event.clear()
                told, listener.told = listener.told, {}
                for subject in told:
                    yield subject
        finally:
            self._listeners.discard(listener)


class _Listener:
    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.told: dict[Subject, None] = {}
        self.is_over = False
