"""HTTP to one BMC: at most two kept-alive connections, same origin only, a hard deadline on everything.

A BMC may drop a kept-alive connection at reuse (Q01): a GET or a login is then sent once more on a fresh connection, and after
two such hits this BMC gets a fresh connection for each request. Writes are never repeated; once a BMC has dropped a connection
they get a fresh one.
"""

import asyncio
import ssl
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from metalwright.drivers.redfish.connection import Connection, Response
from metalwright.drivers.redfish.failures import BmcUnavailable, malformed, refused, timed_out
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.trust import CertificateTrust, bare_context
from metalwright.model.errors import InputError

_DROPS_UNTIL_CLOSE = 2


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a BMC."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def origin_of(url: str) -> Origin:
    """The origin of a BMC's URL; InputError when it is none, or carries a user or password."""
    hint = "write it as https://10.20.0.11"
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")  # as name resolution will do
    except ValueError as error:
        raise InputError(f"{url!r} is not a BMC URL: {error}", hint=hint) from error
    if parts.username or parts.password:
        raise InputError("the BMC URL holds an account", hint="leave user and password out of the URL")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not _is_plain(url):
        raise InputError(f"{url!r} is not a BMC URL", hint=hint)
    return Origin(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80))


def _is_plain(link: str) -> bool:
    """Printable ASCII without blanks: nothing that could end a request line."""
    return link.isascii() and link.isprintable() and " " not in link


class HttpClient:
    """Requests to one BMC. Counts `requests` and `received_bytes`."""

    def __init__(self, origin: Origin, trust: CertificateTrust, bounds: Bounds, context: ssl.SSLContext | None = None) -> None:
        self.origin = origin
        self.requests = 0
        self.received_bytes = 0
        self._trust = trust
        self._bounds = bounds
        self._context = context
        self._idle: list[Connection] = []
        self._slots = asyncio.Semaphore(bounds.limits.connections)
        self._drops = 0
        host = origin.host if origin.port in (80, 443) else f"{origin.host}:{origin.port}"
        host = host if ":" not in origin.host else f"[{origin.host}]:{origin.port}"
        self._common = f" HTTP/1.1\r\nHost: {host}\r\nUser-Agent: metalwright\r\nAccept: application/json\r\nOData-Version: 4.0\r\n"

    async def send(self, method: str, target: str, headers: str, body: bytes | None, timeout_s: float) -> Response:
        """One request, redirects of a GET within the BMC followed. `headers` are ready lines, each with its CRLF."""
        for _ in range(self._bounds.limits.redirects + 1):
            response = await self._send_once(method, target, headers, body, timeout_s)
            if response.status not in (301, 302, 303, 307, 308) or method != "GET":
                return response
            target = self.local_target(urljoin(f"{self.origin}{target}", response.header(b"location")))
        raise malformed(str(self.origin), f"more than {self._bounds.limits.redirects} redirects")

    def local_target(self, link: str) -> str:
        """Path and query of a link on this BMC; a link to anywhere else is refused."""
        if link.startswith("/redfish") and "#" not in link and _is_plain(link):
            return link
        parts = urlsplit(link) if _is_plain(link) and "\\" not in link else None
        if parts is None or not parts.path.startswith("/") or not self._is_here(link):
            raise malformed(str(self.origin), f"a link that leaves the BMC or is no path: {link[:80]!r}")
        return parts.path + (f"?{parts.query}" if parts.query else "")

    async def open_stream(self, target: str, headers: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect, check the certificate, send a GET; the caller reads and closes."""
        is_tls = self.origin.scheme == "https"
        try:
            async with asyncio.timeout(self._bounds.deadlines.connect_s):
                reader, writer = await asyncio.open_connection(self.origin.host, self.origin.port, ssl=self._tls() if is_tls else None)
        except TimeoutError as error:
            raise timed_out(f"connecting to {self.origin}", self._bounds.deadlines.connect_s) from error
        except (OSError, ssl.SSLError) as error:
            raise refused(str(self.origin), error) from error
        if is_tls:
            try:
                self._trust.check(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
            except BaseException:
                writer.close()
                raise
        writer.write(self._request_bytes("GET", target, headers, None))
        return reader, writer

    def close(self) -> None:
        """Drop every connection."""
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    async def _send_once(self, method: str, target: str, headers: str, body: bytes | None, timeout_s: float) -> Response:
        request = self._request_bytes(method, target, headers, body)
        may_repeat = method == "GET" or target.endswith("/Sessions")
        async with self._slots:
            self.requests += 1
            connection = self._take_idle() if may_repeat or self._drops == 0 else None
            if connection is not None:
                try:
                    return await self._exchange(connection, request, timeout_s)
                except BmcUnavailable as failure:
                    if failure.failure_class != "refused" or not connection.was_silent or not may_repeat:
                        raise
                    self._drops += 1
            return await self._exchange(await self._connect(), request, timeout_s)

    async def _exchange(self, connection: Connection, request: bytes, timeout_s: float) -> Response:
        response = await connection.exchange(request, timeout_s)
        self.received_bytes += len(response.body)
        if connection.is_open and self._drops < _DROPS_UNTIL_CLOSE:
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    def _is_here(self, link: str) -> bool:
        parts = urlsplit(link)
        if not parts.netloc and not parts.scheme:
            return True
        try:
            return origin_of(link) == self.origin
        except InputError:
            return False

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        where = str(self.origin)
        is_tls = self.origin.scheme == "https"
        try:
            async with asyncio.timeout(self._bounds.deadlines.connect_s):
                _, connection = await loop.create_connection(
                    lambda: Connection(where, self._bounds.limits),
                    self.origin.host,
                    self.origin.port,
                    ssl=self._tls() if is_tls else None,
                )
        except TimeoutError as error:
            raise timed_out(f"connecting to {where}", self._bounds.deadlines.connect_s) from error
        except (OSError, ssl.SSLError) as error:
            raise refused(where, error) from error
        if is_tls:
            try:
                self._trust.check(connection.certificate())
            except BaseException:
                connection.abort()
                raise
        return connection

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = bare_context()
        return self._context

    def _request_bytes(self, method: str, target: str, headers: str, body: bytes | None) -> bytes:
        closing = "Connection: close\r\n" if self._drops >= _DROPS_UNTIL_CLOSE else ""
        if body is None:
            return f"{method} {target}{self._common}{headers}{closing}\r\n".encode("latin-1", "replace")
        # The bare media type: bmcweb once refused parameters after it (Q09). Always a length, never chunked (Q05).
        typed = "" if "Content-Type:" in headers else "Content-Type: application/json\r\n"
        head = f"{method} {target}{self._common}{headers}{typed}Content-Length: {len(body)}\r\n{closing}\r\n"
        return head.encode("latin-1", "replace") + body
