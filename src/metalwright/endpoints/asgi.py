"""The little of ASGI that the listeners need: a bounded body, an answer, a file range."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_S = 30.0
"""A body that takes longer than this is not sent by an agent of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(Exception):
    """An answer that ends a request: status and a plain reason."""

    status: int
    reason: str


async def read_body(receive: Receive, limit: int) -> bytes:
    """The whole body; Refusal 413 beyond the limit, 408 when it takes too long."""
    parts: list[bytes] = []
    total = 0
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(status=400, reason="the connection ended before the body")
                parts.append(message.get("body", b""))
                total += len(parts[-1])
                if total > limit:
                    raise Refusal(status=413, reason=f"at most {limit} bytes")
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError as error:
        raise Refusal(status=408, reason="too slow") from error


async def answer(
    send: Send, status: int, body: bytes = b"", *, content_type: str = "text/plain", headers: Iterable[tuple[str, str]] = ()
) -> None:
    """One whole answer."""
    listed = [(b"content-length", str(len(body)).encode()), *((name.encode(), value.encode()) for name, value in headers)]
    if body:
        listed.append((b"content-type", content_type.encode()))
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})


async def answer_json(send: Send, value: Any) -> None:
    await answer(send, 200, json.dumps(value).encode(), content_type="application/json")


def header(scope: Scope, name: str) -> str:
    """The first header of that name, or empty."""
    wanted = name.encode()
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == wanted), "")
