"""Puts a recorded BMC on a loopback address."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from metalwright.model.secret import Secret
from metalwright.simulator.recorded.app import RecordedBmc
from metalwright.simulator.recorded.tree import load_tree
from metalwright.simulator.redfish.app import address_of
from metalwright.simulator.redfish.server import serve_app


@contextlib.asynccontextmanager
async def open_recorded(
    source: Path, url: str, state_dir: Path, *, account: tuple[str, Secret] | None = None, latency_s: float = 0.0
) -> AsyncIterator[RecordedBmc]:
    """Serve the tree in `source` at a loopback URL while the block runs; its certificate is kept in `state_dir`.

    InputError when the source holds no tree, or the address cannot be served.
    """
    scheme = "http" if url.startswith("http://") else "https"
    host, port = address_of(url)
    bmc = RecordedBmc(load_tree(source), account=account, latency_s=latency_s)
    await asyncio.to_thread(state_dir.mkdir, parents=True, exist_ok=True, mode=0o700)
    async with serve_app(bmc, [(scheme, host, port)], state_dir):
        yield bmc
