"""One HTTP/1.1 connection to a BMC: bytes in, one response out. Knows nothing of Redfish.

Built on asyncio.Protocol and httptools because a sweep of thousands of BMCs is limited by CPU per request (0.15 s per 1,000
requests here, 0.4 with aiohttp, 2.5 with httpx).
"""

import asyncio
import zlib
from dataclasses import dataclass

import httptools

from metalwright.drivers.redfish.failures import BmcFailure, malformed, refused, timed_out
from metalwright.drivers.redfish.limits import Limits


@dataclass(slots=True)
class Response:
    """`headers` have lower-case names; a repeated header keeps its first value (Q16: duplicated ETag)."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes

    def header(self, name: bytes) -> str:
        """The header as text, empty when absent."""
        return self.headers.get(name, b"").decode("latin-1")


class Connection(asyncio.Protocol):
    """Serves one request at a time. `is_open` tells whether another may follow; `was_silent` that not one byte came back."""

    def __init__(self, where: str, limits: Limits) -> None:
        self.is_open = False
        self.was_silent = True
        self.served = 0
        self._where = where
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._deadline = self._timeout_s = 0.0

    async def exchange(self, request: bytes, timeout_s: float) -> Response:
        """Send the bytes of one request and wait for the whole response, at most `timeout_s` in total."""
        if self._transport is None or self._waiter is not None:
            raise refused(self._where, "the connection is closed or busy")
        self._begin_response()
        self._waiter = waiter = self._loop.create_future()
        self._set_alarm(timeout_s)
        self._transport.write(request)
        try:
            response: Response = await waiter
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            self._waiter = None
        return response

    def abort(self) -> None:
        """Drop the connection at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def certificate(self) -> bytes | None:
        """DER bytes of the peer's certificate; None on plain HTTP."""
        session = self._transport.get_extra_info("ssl_object") if self._transport else None
        return session.getpeercert(binary_form=True) if session else None

    # -- asyncio.Protocol ------------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        if self._waiter is None or self._waiter.done():
            self.abort()  # bytes nobody asked for: whatever follows cannot be matched to a request
            return
        self.was_silent = False
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(malformed(self._where, f"not an HTTP/1.1 response ({type(error).__name__})"))
        if not self._in_body and self._received > self._limits.header_bytes:
            self._fail(malformed(self._where, f"headers larger than {self._limits.header_bytes} bytes"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._transport = None
        if self._alarm is not None:
            self._alarm.cancel()
        if self._waiter is None or self._waiter.done():
            return
        if self._in_body and not self._has_length and exc is None:
            self._finish()  # a body without a length ends with the connection
        else:
            self._fail(refused(self._where, exc or "the BMC closed the connection"))

    # -- httptools callbacks -----------------------------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self._headers.setdefault(name, value)
        if name in (b"content-length", b"transfer-encoding"):
            self._has_length = True

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._status = self._parser.get_status_code()
        length = self._headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._limits.body_bytes:
            self._fail_body()

    def on_body(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self._limits.body_bytes:
            self._fail_body()
            return
        self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        if 100 <= self._status < 200:
            self._forget_response()  # 100 Continue comes before the answer proper, which the same parser reads on
            return
        if not self._parser.should_keep_alive():
            self.is_open = False
        self._finish()

    # -- helpers -----------------------------------------------------------------------------------------------------------------

    def _begin_response(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._received = 0
        self.was_silent = True
        self._forget_response()

    def _forget_response(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._chunks: list[bytes] = []
        self._size = 0
        self._status = 0
        self._in_body = False
        self._has_length = False

    def _finish(self) -> None:
        if self._waiter is None or self._waiter.done():
            return
        body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        encoding = self._headers.get(b"content-encoding", b"").lower()
        if encoding not in (b"", b"identity"):
            unpacked = _unpack(body, encoding, self._limits.body_bytes)
            if unpacked is None:
                self._fail(malformed(self._where, f"body packed as {encoding[:20]!r} that is not readable or too large"))
                return
            body = unpacked
        self.served += 1
        self._waiter.set_result(Response(self._status, self._headers, body))
        if not self.is_open:
            self.abort()

    def _fail(self, failure: BmcFailure) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(failure)
        self.abort()

    def _set_alarm(self, timeout_s: float) -> None:
        """One timer per connection, not per request: it is moved on when it rings too early. Timers cost more than requests else."""
        self._timeout_s = timeout_s
        self._deadline = self._loop.time() + timeout_s
        if self._alarm is None or self._alarm.when() > self._deadline:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = self._loop.call_at(self._deadline, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._waiter is None:
            return  # idle: the next request sets it again
        if self._loop.time() >= self._deadline:
            self._fail(timed_out(self._where, self._timeout_s))
        else:
            self._alarm = self._loop.call_at(self._deadline, self._ring)

    def _fail_body(self) -> None:
        self._fail(malformed(self._where, f"body larger than {self._limits.body_bytes} bytes"))


def _unpack(body: bytes, encoding: bytes, most: int) -> bytes | None:
    """A gzip or deflate body that nobody asked for, unpacked up to `most` bytes; None when larger or unreadable."""
    if encoding not in (b"gzip", b"deflate", b"x-gzip"):
        return None
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        plain = unpacker.decompress(body, most)
    except zlib.error:
        return None
    return None if unpacker.unconsumed_tail or not unpacker.eof else plain
