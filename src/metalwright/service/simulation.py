"""Runs simulators until they are told to stop: a site with the real agent in its machines, or one recorded BMC."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from metalwright.agent.core import Agent
from metalwright.codec.secrets import resolve
from metalwright.codec.site_folder import read_site
from metalwright.model.errors import InputError
from metalwright.model.secret import Secret
from metalwright.simulator.recorded.serve import open_recorded
from metalwright.simulator.site import SiteOptions, open_site


async def run_simulated_site(
    site: Path,
    state: Path,
    *,
    say: Callable[[str], None],
    seed: int = 0,
    latency_s: float = 0.0,
    speed: float = 1.0,
    disk_bytes_per_s: float = 0.0,
) -> None:
    """Serve every BMC of the site until SIGTERM or SIGINT; `say` gets one line when ready. InputError for a site of real hardware."""
    stored = read_site(site)
    if not stored.spec.site.simulated:
        raise InputError(f"{site} declares real hardware", hint="metalwright init DIR --kind simulated makes a site to simulate")
    secrets = stored.spec.secrets.bmc
    options = SiteOptions(
        user=resolve(secrets.user, site).reveal(),
        password=resolve(secrets.password, site),
        seed=seed,
        latency_s=latency_s,
        speed=speed,
        write_bytes_per_s=disk_bytes_per_s,
    )
    async with open_site(stored, state, Agent(), options):
        nodes = stored.spec.nodes
        say(f"ready: {len(nodes)} simulated servers, BMCs {nodes[0].bmc} … {nodes[-1].bmc}")
        await _told_to_stop()


async def run_recorded_bmc(
    source: Path, url: str, state: Path, *, say: Callable[[str], None], account: tuple[str, Secret] | None = None, latency_s: float = 0.0
) -> None:
    """Serve one recorded tree until SIGTERM or SIGINT; `say` gets one line when ready."""
    async with open_recorded(source, url, state, account=account, latency_s=latency_s) as bmc:
        say(f"ready: {len(bmc.state.tree.documents)} documents of {source} at {url}")
        await _told_to_stop()


async def _told_to_stop() -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    await over.wait()
