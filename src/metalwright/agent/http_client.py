"""A small HTTP/1.1 client over asyncio streams: one keep-alive connection, bounded answers, a certificate pinned by digest."""

import asyncio
import hashlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

CONNECT_S = 10.0
MAX_HEADER_BYTES = 32 * 1024
MAX_HEADERS = 100
BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ValueError, IndexError)
"""What a server that is away or speaks something else makes of a request."""


class HttpError(Exception):
    """The server could not be reached, broke the protocol, or is not the pinned one. Try again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Requests to one origin; a second caller waits for the first.

    `pin`: `sha256:<hex>` of the server certificate's DER, required for https. `buffer_bytes`: how much may be received ahead.
    """

    def __init__(self, url: str, pin: str = "", *, buffer_bytes: int = MAX_HEADER_BYTES) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an http or https address: {url!r}")
        if parts.scheme == "https" and not pin:
            raise ValueError("an https address needs the pin of its certificate")
        self._host, self._secure, self._pin = parts.hostname, parts.scheme == "https", pin
        self._port = parts.port or (443 if self._secure else 80)
        self._prefix = parts.path.rstrip("/")
        self._buffer_bytes = buffer_bytes
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"", limit: int, timeout_s: float = 60.0
    ) -> Answer:
        """One request; HttpError on any failure. A kept connection that turns out closed is opened again once."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(timeout_s):
                    return await self._twice_if_reused(method, path, headers or {}, body, limit)
            except BROKEN as error:
                self.close()
                raise HttpError(f"{method} {path}: {type(error).__name__} {error}") from error
            except BaseException:  # cancelled in the middle: what is left of the answer belongs to nobody
                self.close()
                raise

    async def _twice_if_reused(self, method: str, path: str, headers: Mapping[str, str], body: bytes, limit: int) -> Answer:
        reused = self._streams is not None
        try:
            return await self._once(method, path, headers, body, limit)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            if not reused:
                raise
            return await self._once(method, path, headers, body, limit)

    def close(self) -> None:
        """End the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _once(self, method: str, path: str, headers: Mapping[str, str], body: bytes, limit: int) -> Answer:
        reader, writer = self._streams or await self._connect()
        lines = [f"{method} {self._prefix}{path} HTTP/1.1", f"Host: {self._host}:{self._port}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        return await self._answer(reader, method, limit)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(CONNECT_S):
            context = _context() if self._secure else None
            self._streams = await asyncio.open_connection(self._host, self._port, ssl=context, limit=self._buffer_bytes)
        if self._secure:
            self._check_pin(self._streams[1])
        return self._streams

    def _check_pin(self, writer: asyncio.StreamWriter) -> None:
        """Before the first byte of a request: a token must never reach another server."""
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
        if "sha256:" + hashlib.sha256(shown).hexdigest() != self._pin:
            raise HttpError("the server shows another certificate than the pinned one: nothing was sent")

    async def _answer(self, reader: asyncio.StreamReader, method: str, limit: int) -> Answer:
        status = int((await reader.readuntil(b"\r\n")).split(b" ", 2)[1])
        headers = await self._headers(reader)
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = await self._chunks(reader, limit)
        elif method == "HEAD" or status in (204, 304):
            body = b""
        else:
            length = int(headers.get("content-length", "-1"))
            if not 0 <= length <= limit:
                raise HttpError(f"an answer of {length} bytes, at most {limit} are taken")
            body = await reader.readexactly(length)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(status=status, headers=headers, body=body)

    async def _headers(self, reader: asyncio.StreamReader) -> dict[str, str]:
        headers: dict[str, str] = {}
        total = 0
        for _ in range(MAX_HEADERS):
            line = (await reader.readuntil(b"\r\n")).strip()
            if not line:
                return headers
            total += len(line)
            if total > MAX_HEADER_BYTES:
                break
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        raise HttpError("too many headers")

    async def _chunks(self, reader: asyncio.StreamReader, limit: int) -> bytes:
        parts, total = [], 0
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            total += size
            if size < 0 or total > limit:
                raise HttpError(f"an answer of more than {limit} bytes")
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await self._headers(reader)
        return b"".join(parts)


@cache
def _context() -> ssl.SSLContext:
    """No authorities and no dates: the pin alone says who the server is, whatever a node's clock shows after power-on."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
