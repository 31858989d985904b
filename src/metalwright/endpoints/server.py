"""Runs a listener inside the present event loop."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn

from metalwright.endpoints.asgi import App
from metalwright.model.errors import InputError

BACKLOG = 1024
KEEP_ALIVE_S = 40
STOP_S = 2


@contextlib.asynccontextmanager
async def serve(
    app: App, host: str, port: int, *, certificate: Path | None = None, key: Path | None = None, is_shared: bool = False
) -> AsyncIterator[None]:
    """Listening while the block runs. InputError when the address cannot be had.

    `is_shared`: other processes of the same user may listen there too; the kernel spreads new connections over those that live.
    """
    listener = _listen(host, port, is_shared=is_shared)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STOP_S,
        backlog=BACKLOG,
        http="httptools",
        ws="none",
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name=f"listener {port}")
    try:
        while not server.started and not task.done():  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.005)
        yield
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        listener.close()


class _Server(uvicorn.Server):
    """Leaves signals to the process it runs in."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


def _listen(host: str, port: int, *, is_shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # without the protocol's name asyncio sets no TCP_NODELAY
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "another program listens there, or the address is not this machine's: change netboot in site.yaml"
        raise InputError(f"cannot listen on {host} port {port}: {error.strerror}", hint=hint) from error
    listener.setblocking(False)
    return listener
