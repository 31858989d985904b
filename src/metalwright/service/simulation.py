"""Puts the real agent into the machines of a simulated site."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from metalwright.agent.core import Agent
from metalwright.codec.secrets import resolve
from metalwright.codec.site_folder import read_site
from metalwright.model.errors import InputError
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
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    async with open_site(stored, state, Agent(), options):
        nodes = stored.spec.nodes
        say(f"ready: {len(nodes)} simulated servers, BMCs {nodes[0].bmc} … {nodes[-1].bmc}")
        await over.wait()
