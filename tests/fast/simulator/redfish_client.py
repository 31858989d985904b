"""The smallest client that speaks to a simulated BMC: blocking, standard library, run in a thread by the tests."""

import asyncio
import base64
import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: Any


class Client:
    """`Client(url, user, password)`; every call opens a connection of its own."""

    def __init__(self, url: str, user: str | None = None, password: str = "", token: str | None = None) -> None:
        self.url = url
        self.headers: dict[str, str] = {}
        if user is not None:
            self.headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        if token is not None:
            self.headers["X-Auth-Token"] = token

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.ask("GET", path, None, **headers)

    async def post(self, path: str, body: Any, **headers: str) -> Reply:
        return await self.ask("POST", path, body, **headers)

    async def patch(self, path: str, body: Any, **headers: str) -> Reply:
        return await self.ask("PATCH", path, body, **headers)

    async def delete(self, path: str) -> Reply:
        return await self.ask("DELETE", path, None)

    async def ask(self, method: str, path: str, body: Any, **headers: str) -> Reply:
        return await asyncio.to_thread(self._ask, method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def _ask(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Reply:
        parts = urlsplit(self.url)
        assert parts.hostname
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        typed = {"Content-Type": "application/json"} if raw is not None else {}
        connection.request(method, path, raw, self.headers | typed | headers)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        is_json = found.get("content-type", "").startswith("application/json") and data
        return Reply(response.status, found, json.loads(data) if is_json else data)
