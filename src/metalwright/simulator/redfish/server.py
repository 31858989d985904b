"""Sockets and TLS: one listener per BMC address, all on loopback, one certificate for the site."""

import asyncio
import asyncio.sslproto
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path

import uvicorn

from metalwright.model.errors import InputError
from metalwright.simulator.redfish.app import Receive, RedfishSite, Scope, Send
from metalwright.simulator.redfish.certificate import ensure_certificate
from metalwright.simulator.redfish.consoles import serve_consoles

App = Callable[[Scope, Receive, Send], Awaitable[None]]
Address = tuple[str, str, int]
_BACKLOG = 128
_TLS_BUFFER = 16 * 1024
"""asyncio keeps a read buffer of this size per TLS connection; its default of 256 KiB costs 290 kB for each idle client."""


class _QuietServer(uvicorn.Server):
    """Leaves the signals to the program that it is part of, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.is_listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve_bmcs(site: RedfishSite, state_dir: Path) -> AsyncIterator[None]:
    """Serve every BMC of a site while the block runs. InputError when an address is taken or not ours to bind."""
    async with serve_app(site, site.addresses(), state_dir), serve_consoles(site):
        yield


@contextlib.asynccontextmanager
async def serve_app(app: App, addresses: Iterable[Address], state_dir: Path) -> AsyncIterator[None]:
    """One application on several addresses (scheme, loopback host, port) while the block runs."""
    sockets = _listen(addresses)
    tls = _tls_context(state_dir) if "https" in sockets else None
    servers = [(_server(app, tls if scheme == "https" else None), opened) for scheme, opened in sockets.items()]
    tasks = [asyncio.create_task(server.serve(sockets=opened)) for server, opened in servers]
    try:
        for server, _ in servers:
            await server.is_listening.wait()
        yield
    finally:
        for server, _ in servers:
            server.should_exit = True
            server.force_exit = True
        await asyncio.gather(*tasks)


def _listen(addresses: Iterable[Address]) -> dict[str, list[socket.socket]]:
    """Bound sockets by scheme; all or none."""
    opened: dict[str, list[socket.socket]] = {}
    with contextlib.ExitStack() as undo:
        for scheme, host, port in addresses:
            if scheme not in {"http", "https"}:
                raise InputError(f"BMC URL scheme {scheme} is not http or https", hint="edit the bmc column of nodes.csv")
            # The protocol is named because asyncio sets TCP_NODELAY only then; without it every answer takes 40 ms.
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            undo.callback(listener.close)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((host, port))
            except OSError as error:
                hint = "is another simulator running? `ss -ltnp` names it"
                raise InputError(f"cannot listen on {host}:{port}: {error.strerror}", hint=hint) from error
            opened.setdefault(scheme, []).append(listener)
        undo.pop_all()
    return opened


def _server(app: App, tls: ssl.SSLContext | None) -> _QuietServer:
    config = uvicorn.Config(
        app,
        http="httptools",
        loop="asyncio",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        ws="none",
        backlog=_BACKLOG,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
    )
    config.load()
    config.ssl = tls
    return _QuietServer(config)


def _tls_context(state_dir: Path) -> ssl.SSLContext:
    certificate, key = ensure_certificate(state_dir)
    asyncio.sslproto.SSLProtocol.max_size = _TLS_BUFFER
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context
