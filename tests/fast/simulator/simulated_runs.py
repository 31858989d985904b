"""A served site, a program that notes its boots, and a boot server: what the simulator's tests run on."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from metalwright.model.agent_messages import BootArguments
from metalwright.model.secret import Secret
from metalwright.model.spec import StoredSpec
from metalwright.ports import BootedMachine, NodeProgram
from metalwright.simulator.machine import Timing
from metalwright.simulator.site import SimulatedSite, SiteOptions, open_site

QUICK = Timing(power_s=0.01, firmware_s=0.01, kernel_s=0.01, shutdown_s=0.01, script_retry_s=0.01, script_tries=5)
USER, PASSWORD = "admin", "correct horse"


class WallClock:
    """The real time."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RecordingProgram:
    """What machines run in these tests: notes each boot and runs until cancelled."""

    def __init__(self) -> None:
        self.boots: list[tuple[BootedMachine, BootArguments]] = []
        self.ended = 0
        self._changed = asyncio.Condition()

    async def run(self, machine: BootedMachine, arguments: BootArguments) -> None:
        async with self._changed:
            self.boots.append((machine, arguments))
            self._changed.notify_all()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1

    async def boot(self, number: int) -> tuple[BootedMachine, BootArguments]:
        """The `number`-th boot, waited for."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.boots) >= number)
            return self.boots[number - 1]


@contextlib.asynccontextmanager
async def running(
    stored: StoredSpec, folder: Path, program: NodeProgram, *, timing: Timing = QUICK, seed: int = 7
) -> AsyncIterator[SimulatedSite]:
    """The site, served with short times and a known account."""
    options = SiteOptions(user=USER, password=Secret(PASSWORD), seed=seed, timing=timing)
    async with asyncio.timeout(30), open_site(stored, folder, program, options) as site:
        yield site


async def until(is_true: Callable[[], bool]) -> None:
    """Wait for a state of the simulator (same event loop)."""
    async with asyncio.timeout(10):
        while not is_true():
            await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def boot_server(script: Callable[[str, str], str | None]) -> AsyncIterator[tuple[str, list[str]]]:
    """A plain HTTP server on loopback: its URL and the paths asked for; `script` gives the body for URL and path, or None for 404."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        asked.append(path)
        body = script(url, path)
        status = "200 OK" if body is not None else "404 Not Found"
        writer.write(f"HTTP/1.0 {status}\r\nContent-Type: text/plain\r\n\r\n{body or ''}".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield url, asked
