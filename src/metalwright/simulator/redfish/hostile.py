"""Answers of a BMC that is broken beyond its firmware, or not a BMC at all: what a client must survive in bounded time and memory."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import orjson

Send = Callable[[Any], Awaitable[None]]
WAYS = ("slow-loris", "huge-body", "redirects", "pages", "zip-bomb", "html", "deep-json")
_PIECE = bytes(64 * 1024).replace(b"\0", b" ")
_GIGABYTE_PIECES = (1 << 30) // len(_PIECE)


async def send_hostile(send: Send, way: str, path: str, query: str, is_gone: Callable[[], bool]) -> None:
    """One answer in one of `WAYS`; ends early when the client has left."""
    match way:
        case "slow-loris":
            await _start(send, 200, {"content-type": "application/json", "content-length": "100000"})
            while not is_gone():
                await send({"type": "http.response.body", "body": b" ", "more_body": True})
                await asyncio.sleep(0.5)
        case "huge-body":
            await _start(send, 200, {"content-type": "application/json"})
            for _ in range(_GIGABYTE_PIECES):
                if is_gone():
                    return
                await send({"type": "http.response.body", "body": _PIECE, "more_body": True})
                await asyncio.sleep(0)
        case "redirects":
            await _whole(send, 302, b"", location=path)
        case "pages":
            await _whole(send, 200, _page(path, query))
        case "zip-bomb":
            await _whole(send, 200, _bomb(), **{"content-encoding": "gzip"})
        case "html":
            await _whole(send, 200, b"<html><body>Please log in</body></html>")
        case _:
            await _whole(send, 200, b'{"a":' * 10_000 + b"1" + b"}" * 10_000)


def _page(path: str, query: str) -> bytes:
    """A service root whose every collection goes on for ever, with members that are collections again."""
    number = int(query.rpartition("=")[2]) + 1 if query.rpartition("=")[2].isdigit() else 1
    names = ("Systems", "Chassis", "Managers", "Fabrics", "UpdateService")
    base = path.rstrip("/")
    document: dict[str, Any] = {"@odata.id": base, "RedfishVersion": "1.20.0", "Id": "x"}
    document |= {name: {"@odata.id": f"/redfish/v1/{name}"} for name in names}
    document |= {"Members": [{"@odata.id": f"{base}/{number}"}], "Members@odata.nextLink": f"{base}?$skip={number}"}
    return orjson.dumps(document)


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(200 << 20), 9)


async def _whole(send: Send, status: int, body: bytes, **headers: str) -> None:
    await _start(send, status, {"content-type": "application/json", "content-length": str(len(body)), **headers})
    await send({"type": "http.response.body", "body": body})


async def _start(send: Send, status: int, headers: dict[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
