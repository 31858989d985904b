"""A BMC whose documents can be changed: PATCH merges into them, POST goes to what the test registers. Starts from a plain host."""

import copy
from collections.abc import Callable
from typing import Any

import orjson
from plain_host import SYSTEM, PlainHost
from tree_bmc import Asked, Reply, TreeBmc, error

Post = Callable[[Asked], Reply]


class EditableBmc:
    """`documents` by path; `posts` by path; `refuse` may answer a PATCH before it is merged."""

    def __init__(self, documents: dict[str, Any], system: dict[str, Any] | None = None) -> None:
        base = PlainHost(power="On").tree()
        base[SYSTEM] = {**base[SYSTEM], **(system or {})}
        self.documents: dict[str, Any] = {**base, **copy.deepcopy(documents)}
        self.posts: dict[str, Post] = {}
        self.refuse: Callable[[Asked], Reply | None] = lambda asked: None
        self.patched: list[tuple[str, Any]] = []
        self.posted: list[tuple[str, bytes]] = []

    def root(self, **more: Any) -> "EditableBmc":
        self.documents["/redfish/v1"] = {**self.documents["/redfish/v1"], **more}
        return self

    def listening(self) -> TreeBmc:
        return TreeBmc(tree={}, handlers=[self.handle])

    async def handle(self, bmc: TreeBmc, asked: Asked) -> Reply | None:
        path = asked.path.rstrip("/")
        if asked.method == "POST" and path in self.posts:
            self.posted.append((path, asked.body))
            return self.posts[path](asked)
        if asked.method == "PATCH":
            if (refused := self.refuse(asked)) is not None:
                return refused
            if path not in self.documents:
                return error(404, "Base.1.8.ResourceMissingAtURI")
            self.patched.append((path, asked.json()))
            merge(self.documents[path], asked.json())
            return 200, {}, b"{}"
        if asked.method == "GET" and path in self.documents:
            return 200, {}, orjson.dumps(self.documents[path])
        return None


def merge(into: dict[str, Any], change: dict[str, Any]) -> None:
    """PATCH semantics for objects."""
    for name, value in change.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = value


def link(path: str) -> dict[str, str]:
    return {"@odata.id": path}


def members(*paths: str) -> dict[str, Any]:
    return {"Members": [link(path) for path in paths]}
