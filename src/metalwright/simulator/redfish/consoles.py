"""Serial consoles of a site: each says that it is an SSH server, and no more. Enough to see whether a console can be reached."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from metalwright.simulator.redfish.app import RedfishSite, address_of

BANNER = b"SSH-2.0-metalwright_simulated_console\r\n"


@contextlib.asynccontextmanager
async def serve_consoles(site: RedfishSite) -> AsyncIterator[None]:
    """One listener per BMC, at its own loopback address on a free port."""
    async with contextlib.AsyncExitStack() as open_servers:
        for name in site.machines:
            host, _ = address_of(site.world.node(name).bmc)
            server = await open_servers.enter_async_context(await asyncio.start_server(_speak, host, 0))
            site.console_ports[name] = server.sockets[0].getsockname()[1]
        yield


async def _speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(BANNER)
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()
