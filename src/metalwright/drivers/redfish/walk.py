"""Reads the documents of an inventory by following links, two at a time, each at most once. One bad member never ends a walk."""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.client import Answer, RedfishClient
from metalwright.drivers.redfish.documents import Documents, link_of
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable
from metalwright.drivers.redfish.limits import Limits
from metalwright.drivers.redfish.routes import links

_NEXT = "Members@odata.nextLink"


class Walk:
    """One walk from the service root. `run` gives the documents, with the unreadable ones and their reasons."""

    def __init__(self, client: RedfishClient, limits: Limits, *, ports: bool = True, counters: bool = False) -> None:
        self.documents = Documents()
        self._client = client
        self._limits = limits
        self._ports = ports
        self._counters = counters
        self._queue: deque[tuple[str, str]] = deque()
        self._seen: set[str] = set()
        self._page_of: dict[str, str] = {}
        self._fault: BmcFault | None = None
        self._busy = 0
        self._idle: list[asyncio.Future[None]] = []

    async def run(self) -> Documents:
        """Raises BmcFault when the whole BMC refuses (account, certificate); everything else is in `documents.failed`."""
        root = await self._client.root()
        self.documents.found["/redfish/v1"] = root
        self._seen.add("/redfish/v1")
        self._follow("/redfish/v1", "root", root)
        async with asyncio.TaskGroup() as group:
            for _ in range(self._limits.connections):
                group.create_task(self._work())
        if self._fault is not None:
            raise self._fault
        return self.documents

    async def _work(self) -> None:
        while True:
            while not self._queue:
                if self._busy == 0:
                    self._wake()
                    return
                waiter = asyncio.get_running_loop().create_future()
                self._idle.append(waiter)
                await waiter
            path, route = self._queue.popleft()
            self._busy += 1
            try:
                await self._visit(path, route)
            finally:
                self._busy -= 1
                self._wake()

    def _wake(self) -> None:
        for waiter in self._idle:
            if not waiter.done():
                waiter.set_result(None)
        self._idle.clear()

    async def _visit(self, path: str, route: str) -> None:
        try:
            answer = await self._client.ask("GET", path)
        except BmcUnavailable as failure:
            self._fail(path, failure.message)
            return
        except BmcFault as fault:
            self._fault = fault
            self._queue.clear()
            return
        if not answer.is_ok:
            self._fail(path, _reason(answer))
        elif route.startswith("list:"):
            self._take_page(self._page_of.get(path, path), route, answer.document)
        else:
            self.documents.found[path] = answer.document
            self._follow(path, route, answer.document)

    def _fail(self, path: str, why: str) -> None:
        first_page = self._page_of.get(path)
        if first_page is None:
            self.documents.failed[path] = why
        else:
            self.documents.cut[first_page] = why

    def _take_page(self, collection: str, route: str, page: Mapping[str, Any]) -> None:
        members = self.documents.pages.setdefault(collection, {})
        listed = page.get("Members")
        if not isinstance(listed, list):
            self.documents.warnings += 1  # Members null or missing (Q48): nothing is listed
            listed = []
        for item in listed[: self._limits.documents]:
            path = link_of(item)
            if path is None:
                self.documents.warnings += 1
            elif path not in members:
                members[path] = None
                self._push(path, route.removeprefix("list:"))
        self._count(collection, page, len(members))
        following = page.get(_NEXT)
        if isinstance(following, dict):
            following = following.get("@odata.id")
        if isinstance(following, str) and following:
            self._next_page(collection, route, following)

    def _count(self, collection: str, page: Mapping[str, Any], seen: int) -> None:
        """A collection that promises more members than it lists, with no further page, was read in part."""
        promised = page.get("Members@odata.count")
        if isinstance(promised, int) and promised > seen and _NEXT not in page:
            self.documents.warnings += 1
            self.documents.cut[collection] = f"lists {seen} of {promised} members"

    def _next_page(self, collection: str, route: str, following: str) -> None:
        pages = sum(1 for first in self._page_of.values() if first == collection)
        if pages >= self._limits.pages or following in self._seen:
            self.documents.cut[collection] = f"pages without end (stopped after {pages + 1})"
            return
        self._page_of[following] = collection
        self._push(following, route)

    def _follow(self, path: str, route: str, document: Mapping[str, Any]) -> None:
        for target, onward in links(route, document, ports=self._ports, counters=self._counters):
            self._push(target, onward)

    def _push(self, path: str, route: str) -> None:
        if path in self._seen:
            return
        if len(self._seen) >= self._limits.documents or self._client.http.received_bytes > self._limits.total_bytes:
            self.documents.cut["/redfish/v1"] = "not all read: this BMC has more documents than an inventory may read"
            return
        self._seen.add(path)
        self._queue.append((path, route))


def _reason(answer: Answer) -> str:
    return "absent (404)" if answer.status == 404 else answer.why
