"""What a walk still has to read, shared by its workers: collections first, single resources when no collection is left.

Collections come with their members where `$expand` is trusted; a resource that is also linked from elsewhere (134 PCIe devices
of a DGX H100 are named by the system and by the chassis) is then already there when its turn comes.
"""

import asyncio
from collections import deque

Item = tuple[str, str]
"""(path, route)."""
_CAN_WAIT = frozenset({"pcie-device", "drive", "chassis"})
"""Routes of resources that some collection usually holds too."""


class WorkList:
    """`take` gives the next item or None at the end; each taken item is ended with `done`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._now: deque[Item] = deque()
        self._later: deque[Item] = deque()
        self._known: set[str] = set()
        self._waiting: set[str] = set()
        self._in_flight = 0
        self._firsts_in_flight = 0
        self._idle: list[asyncio.Future[None]] = []

    def push(self, path: str, route: str) -> bool:
        """Add it unless it is known. False when the walk has become too long."""
        if path in self._known or path in self._waiting:
            return True
        if len(self._known) + len(self._waiting) >= self._most:
            return False
        if route in _CAN_WAIT:
            self._waiting.add(path)
            self._later.append((path, route))
        else:
            self._known.add(path)
            self._now.append((path, route))
        return True

    def claim(self, path: str) -> bool:
        """It was read in another way. False when it was known before."""
        if path in self._known or len(self._known) >= self._most:
            return False
        self._known.add(path)
        self._waiting.discard(path)
        return True

    def clear(self) -> None:
        """Forget what is left: the walk ends."""
        self._now.clear()
        self._later.clear()

    async def take(self) -> Item | None:
        while True:
            item = self._next()
            if item is not None:
                self._in_flight += 1
                self._firsts_in_flight += item[1] not in _CAN_WAIT
                return item
            if self._in_flight == 0:
                self._wake()
                return None
            waiter = asyncio.get_running_loop().create_future()
            self._idle.append(waiter)
            await waiter

    def done(self, item: Item) -> None:
        self._in_flight -= 1
        self._firsts_in_flight -= item[1] not in _CAN_WAIT
        self._wake()

    def _next(self) -> Item | None:
        if self._now:
            return self._now.popleft()
        while self._later and self._firsts_in_flight == 0:
            path, route = self._later.popleft()
            if self.claim(path):
                return path, route
        return None

    def _wake(self) -> None:
        for waiter in self._idle:
            if not waiter.done():
                waiter.set_result(None)
        self._idle.clear()
