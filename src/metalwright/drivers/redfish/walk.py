"""Reads the documents of an inventory by following links, two at a time, each at most once. One bad member never ends a walk."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from metalwright.drivers.redfish.client import Answer, RedfishClient
from metalwright.drivers.redfish.documents import Documents, link_of, objects
from metalwright.drivers.redfish.expand import ExpandTrust, expand_query, firmware_key, is_expanded, is_whole
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable
from metalwright.drivers.redfish.limits import Limits
from metalwright.drivers.redfish.routes import goes_on, links
from metalwright.drivers.redfish.work_list import WorkList

_NEXT = "Members@odata.nextLink"
Follow = Callable[[str, Mapping[str, Any]], Iterable[tuple[str, str]]]
"""(route, document) → links to follow, each with its route."""


class Walk:
    """One walk from the service root. `run` gives the documents, with the unreadable ones and their reasons."""

    def __init__(
        self,
        client: RedfishClient,
        limits: Limits,
        trust: ExpandTrust | None,
        *,
        ports: bool = True,
        counters: bool = False,
        follow: Follow | None = None,
    ) -> None:
        """`trust` None: never `$expand`. `ports`: NVLink ports; `counters`: their error counters and component integrity.

        `follow`: other links than an inventory's.
        """
        self.documents = Documents()
        self._client = client
        self._limits = limits
        self._trust = trust
        self._expand: str | None = None
        self._firmware = ""
        self._ports = ports
        self._counters = counters
        self._links = follow or self._links_of_inventory
        self._todo = WorkList(limits.documents)
        self._page_of: dict[str, str] = {}
        self._fault: BmcFault | None = None

    async def run(self) -> Documents:
        """Raises BmcFault when the whole BMC refuses (account, certificate); everything else is in `documents.failed`."""
        root = await self._client.root()
        self.documents.found["/redfish/v1"] = root
        self._todo.claim("/redfish/v1")
        await self._learn_firmware(root)
        self._follow("/redfish/v1", "root", root)
        if self._fault is not None:
            raise self._fault
        async with asyncio.TaskGroup() as group:
            for _ in range(self._limits.connections):
                group.create_task(self._work())
        if self._fault is not None:
            raise self._fault
        return self.documents

    async def _work(self) -> None:
        while (item := await self._todo.take()) is not None:
            try:
                await self._visit(*item)
            finally:
                self._todo.done(item)

    async def _learn_firmware(self, root: Mapping[str, Any]) -> None:
        """Whether and for which firmware `$expand` is worth a try: needs the first manager, which the inventory reads anyway."""
        self._expand = None if self._trust is None else expand_query(root)
        managers = link_of(root.get("Managers"))
        if self._expand is None or managers is None:
            return
        self._todo.claim(managers)
        await self._visit(managers, "list:manager")
        while (item := await self._todo.take()) is not None:
            await self._visit(*item)
            self._todo.done(item)
        first = next(iter(self.documents.pages.get(managers, ())), None)
        self._firmware = firmware_key(root, self.documents.get(first))

    async def _visit(self, path: str, route: str) -> None:
        try:
            if self._may_expand(path, route) and await self._visit_expanded(path, route):
                return
            answer = await self._client.ask("GET", path)
        except BmcUnavailable as failure:
            self._fail(path, failure.message)
            return
        except BmcFault as fault:
            self._fault = fault
            self._todo.clear()
            return
        if not answer.is_ok:
            self._fail(path, _reason(answer))
        elif route.startswith("list:"):
            self._take_page(self._page_of.get(path, path), route, answer.document)
        else:
            self.documents.found[path] = answer.document
            self._follow(path, route, answer.document)

    def _may_expand(self, path: str, route: str) -> bool:
        """Later pages carry their own query; a firmware that is not known or has lied is read plainly."""
        is_first_page = route.startswith("list:") and path not in self._page_of and "?" not in path
        return is_first_page and bool(self._expand and self._firmware) and self._trusted(route) is not False

    def _trusted(self, route: str) -> bool | None:
        return False if self._trust is None else self._trust.is_trusted(self._firmware, route)

    def _learn(self, route: str, *, is_whole: bool) -> None:
        if self._trust is not None:
            self._trust.learn(self._firmware, route, is_whole)

    async def _visit_expanded(self, path: str, route: str) -> bool:
        """Read a collection with its members. False when that cannot be used: read it plainly instead."""
        answer = await self._client.ask("GET", f"{path}{self._expand}")
        members = [member for member in objects(answer.document.get("Members")) if is_expanded(member)] if answer.is_ok else []
        if not answer.is_ok:
            self._learn(route, is_whole=answer.status not in (400, 404, 405, 501))
            return False
        if members and self._trusted(route) is None:
            await self._compare(route, members[0])
        if members and not self._trusted(route):
            return False
        onward = route.removeprefix("list:")
        for member in members:
            self._take_member(member, onward)
        self._take_page(path, route, answer.document)
        return True

    async def _compare(self, route: str, member: Mapping[str, Any]) -> None:
        path = link_of(member)
        alone = await self._client.ask("GET", path) if path else None
        if alone is not None and alone.is_ok:
            self._learn(route, is_whole=is_whole(member, alone.document))

    def _take_member(self, member: Mapping[str, Any], route: str) -> None:
        path = link_of(member)
        if path is not None and self._todo.claim(path):
            self.documents.found[path] = member
            self._follow(path, route, member)

    def _fail(self, path: str, why: str) -> None:
        first_page = self._page_of.get(path)
        if first_page is None:
            self.documents.failed[path] = why
        else:
            self.documents.cut[first_page] = why

    def _take_page(self, collection: str, route: str, page: Mapping[str, Any]) -> None:
        members, onward = self.documents.pages.setdefault(collection, {}), route.removeprefix("list:")
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
                if path not in self.documents.found:  # expanded ones are there already
                    self._push(path, onward)
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
        if pages >= self._limits.pages or following in self._page_of:
            self.documents.cut[collection] = f"pages without end (stopped after {pages + 1})"
            return
        self._page_of[following] = collection
        self._push(following, route)

    def _follow(self, path: str, route: str, document: Mapping[str, Any]) -> None:
        for target, onward in self._links(route, document):
            self._push(target, onward)

    def _links_of_inventory(self, route: str, document: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        return links(route, document, ports=self._ports, counters=self._counters) if goes_on(route) else ()

    def _push(self, path: str, route: str) -> None:
        is_too_much = self._client.http.received_bytes > self._limits.total_bytes
        if is_too_much or not self._todo.push(path, route):
            self.documents.cut["/redfish/v1"] = "not all read: this BMC has more documents than an inventory may read"


def _reason(answer: Answer) -> str:
    return "absent (404)" if answer.status == 404 else answer.why
