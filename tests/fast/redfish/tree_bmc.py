"""A small BMC for tests: serves a tree of documents over HTTP or HTTPS, keeps sessions, power and boot, and can be told to
misbehave. Real sockets, real TLS; no code of the driver under test.
"""

import asyncio
import json
import os
import ssl
import tarfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httptools
import orjson
import pytest

Tree = dict[str, Any]
Reply = tuple[int, dict[str, str], bytes]


@dataclass
class Asked:
    """One request as the BMC received it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Handler = Callable[["TreeBmc", Asked], Awaitable[Reply | None]]


def captures() -> Path:
    """Recorded trees of real machines, or skip with the reason."""
    root = Path(__file__).resolve().parents[3]
    places = [os.environ.get("METALWRIGHT_CAPTURES"), root / "../shared/captures", root / "../../shared/captures"]
    for place in places:
        if place and (Path(place) / "redfish").is_dir():
            return Path(place)
    pytest.skip("recorded trees of real machines are not here (set METALWRIGHT_CAPTURES)")


@cache
def recorded(name: str) -> Mapping[str, bytes]:
    """Path → bytes of every document of a recorded tree."""
    found = {}
    with tarfile.open(captures() / "redfish" / f"{name}.tar.xz") as archive:
        for member in archive:
            head, _, tail = member.name.partition("/redfish/v1")
            if member.isfile() and tail.endswith("/index.json") and "/" not in head:
                found["/redfish/v1" + tail.removesuffix("/index.json")] = archive.extractfile(member).read()  # type: ignore[union-attr]
    return found


@dataclass
class TreeBmc:
    """`async with TreeBmc(tree) as bmc` listens on loopback; `bmc.url` leads to it."""

    tree: Mapping[str, Any]
    handlers: list[Handler] = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    account: tuple[str, str] | None = None
    session_seats: int = 16
    latency_s: float = 0.0
    asked: list[Asked] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)
    """Token → path of open sessions."""
    connections: int = 0
    open_now: int = 0
    most_open: int = 0
    expand: str = ""
    """How `$expand` is answered: `` (404, as a static tree does), `whole`, or `lossy` (a required property is missing, Q49)."""
    closes_after: int | None = None
    """Drop each connection, silently, after this many answers."""

    async def __aenter__(self) -> "TreeBmc":
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Face(self), "127.0.0.1", 0, ssl=self.tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    def requests(self, method: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.method == method]

    async def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        for handler in self.handlers:
            if (reply := await handler(self, asked)) is not None:
                return reply
        return self._session_reply(asked) or self._tree_reply(asked)

    def _session_reply(self, asked: Asked) -> Reply | None:
        if asked.path.endswith("/Sessions") and asked.method == "POST":
            given = asked.json()
            if self.account is not None and self.account != (given.get("UserName"), given.get("Password")):
                return error(401, "Base.1.8.ResourceAtUriUnauthorized")
            if len(self.sessions) >= self.session_seats:
                return error(503, "IDRAC.2.8.RAC0218")
            token = f"token{len(self.asked)}"
            self.sessions[token] = f"{asked.path}/{token}"
            return 201, {"X-Auth-Token": token, "Location": self.sessions[token]}, b"{}"
        if self.account is not None and asked.path.rstrip("/") != "/redfish/v1" and not self.is_known(asked):
            return error(401, "Base.1.8.NoValidSession")
        if asked.method == "DELETE":
            gone = [token for token, path in self.sessions.items() if path == asked.path]
            for token in gone:
                del self.sessions[token]
            return (204, {}, b"") if gone else error(404, "Base.1.8.ResourceMissingAtURI")
        return None

    def is_known(self, asked: Asked) -> bool:
        import base64

        user, password = self.account or ("", "")
        basic = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        return asked.headers.get("x-auth-token") in self.sessions or asked.headers.get("authorization") == basic

    def _expanded(self, path: str) -> Reply:
        collection = self._document(path)
        members = [dict(self._document(member["@odata.id"])) for member in collection.get("Members") or []]
        if self.expand == "lossy":
            for member in members:
                member.pop("SerialNumber", None)
                member.pop("Status", None)
        return 200, {}, orjson.dumps({**collection, "Members": members})

    def _document(self, path: str) -> Any:
        body = self.tree.get(path.rstrip("/"), b'{"error": {"code": "Base.1.8.ResourceMissingAtURI"}}')
        return orjson.loads(body) if isinstance(body, bytes) else body

    def _tree_reply(self, asked: Asked) -> Reply:
        path, _, query = asked.path.partition("?")
        if query.startswith("$expand=") and self.expand and path in self.tree:
            return self._expanded(path)
        body = self.tree.get(asked.path.rstrip("/"))
        if body is None or asked.method != "GET":
            return error(404 if asked.method == "GET" else 405, "Base.1.8.ResourceMissingAtURI")
        return 200, {}, body if isinstance(body, bytes) else orjson.dumps(body)


def error(status: int, message_id: str, text: str = "no") -> Reply:
    """An error body as BMCs write it."""
    body = {"error": {"code": message_id, "message": text, "@Message.ExtendedInfo": [{"MessageId": message_id, "Message": text}]}}
    return status, {}, orjson.dumps(body)


class _Face(asyncio.Protocol):
    """One connection to the BMC."""

    def __init__(self, bmc: TreeBmc) -> None:
        self.bmc = bmc
        self.tasks: set[asyncio.Task[None]] = set()
        self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.bmc.connections += 1
        self.bmc.open_now += 1
        self.bmc.most_open = max(self.bmc.most_open, self.bmc.open_now)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self.bmc.open_now -= 1
        for task in self.tasks:
            task.cancel()

    def _begin(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.url, self.headers, self.body = b"", {}, b""

    def data_received(self, data: bytes) -> None:
        if self.bmc.closes_after is not None and self.answered >= self.bmc.closes_after:
            self.transport.abort()  # type: ignore[attr-defined]
            return
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        asked = Asked(self.parser.get_method().decode(), self.url.decode(), self.headers, self.body)
        self._begin()
        task = asyncio.get_running_loop().create_task(self._reply(asked))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _reply(self, asked: Asked) -> None:
        status, headers, body = await self.bmc.answer(asked)
        self.answered += 1
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} X\r\n{lines}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)  # type: ignore[attr-defined]
