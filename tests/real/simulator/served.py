"""A served site and foreign programs that talk to it."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from metalwright.model.secret import Secret
from metalwright.model.spec import StoredSpec
from metalwright.simulator.site import SimulatedSite, SiteOptions, open_site
from tests.fast.simulator.simulated_runs import QUICK, USER, RecordingProgram

PASSWORD = "Correct-horse-1"


def while_served(stored: StoredSpec, folder: Path, work: Callable[[SimulatedSite, str], Awaitable[None]]) -> None:
    """Serve the site and do the work with it and the URL of its first BMC."""

    async def run() -> None:
        options = SiteOptions(user=USER, password=Secret(PASSWORD), seed=7, timing=QUICK)
        async with open_site(stored, folder, RecordingProgram(), options) as site:
            await work(site, stored.spec.nodes[0].bmc)

    asyncio.run(run())


async def run_program(name: str, *arguments: str, timeout_s: float, cwd: Path) -> tuple[int, str]:
    """A program of this Python environment; its exit code and all it said. Killed at the timeout.

    The variables that name a CA bundle are taken away: `requests` lets them override "do not verify", and the certificate is self-signed.
    """
    environment = {key: value for key, value in os.environ.items() if "CA_BUNDLE" not in key}
    program = Path(sys.executable).with_name(name)
    process = await asyncio.create_subprocess_exec(
        str(program), *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=cwd, env=environment
    )
    try:
        async with asyncio.timeout(timeout_s):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, said.decode(errors="replace")
