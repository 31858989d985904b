"""A whole simulated site, served: every BMC on its address, every machine behind it, faults and their control socket."""

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.model.secret import Secret
from metalwright.model.spec import StoredSpec
from metalwright.ports import NodeProgram
from metalwright.simulator import standing
from metalwright.simulator.control import Control, serve_control
from metalwright.simulator.fault_desk import FaultDesk
from metalwright.simulator.machine import SimulatedMachine, Timing
from metalwright.simulator.redfish.app import RedfishSite
from metalwright.simulator.redfish.server import serve_bmcs
from metalwright.simulator.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """`user` and `password`: the account every BMC was delivered with. `speed`: how much faster than `Timing` machines start."""

    user: str
    password: Secret
    seed: int = 0
    latency_s: float = 0.0
    speed: float = 1.0
    timing: Timing = field(default_factory=Timing)
    write_bytes_per_s: float = 0.0
    """Limit of each disk's write speed; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSite:
    """What is being served."""

    world: World
    machines: dict[NodeName, SimulatedMachine]
    redfish: RedfishSite
    faults: FaultDesk


async def serve_site(stored: StoredSpec, state_dir: Path, program: NodeProgram, options: SiteOptions) -> None:
    """Serve until cancelled. `program` is what booted machines run: the real agent."""
    async with open_site(stored, state_dir, program, options):
        await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def open_site(stored: StoredSpec, state_dir: Path, program: NodeProgram, options: SiteOptions) -> AsyncIterator[SimulatedSite]:
    """The site while the block runs. InputError when a BMC's address cannot be served, or an option makes no sense."""
    if not (options.speed > 0 and options.latency_s >= 0 and options.write_bytes_per_s >= 0):
        raise InputError("speed must be above 0, latency and disk speed not below", hint="leave the option out for its default")
    _prepare(state_dir)
    _allow_many_sockets()
    world = World(stored, options.seed)
    machines = {name: _machine(name, world, state_dir, program, options) for name in world.names()}
    redfish = RedfishSite(
        world,
        machines,
        user=options.user,
        password=options.password,
        latency_s=options.latency_s,
        last_reset=lambda name: machines[name].standing.last_reset_at,
    )
    desk = FaultDesk(world, redfish.faults, machines, state_dir / "faults.json")
    async with serve_control(Control(desk, machines, lambda name: redfish.state(name).asked), state_dir), serve_bmcs(redfish, state_dir):
        for machine in machines.values():
            machine.resume()
        try:
            yield SimulatedSite(world=world, machines=machines, redfish=redfish, faults=desk)
        finally:
            for machine in machines.values():
                await machine.close()


def _machine(name: NodeName, world: World, state_dir: Path, program: NodeProgram, options: SiteOptions) -> SimulatedMachine:
    folder = state_dir / "nodes" / name
    state_file = folder / "standing.json"
    state = standing.load(state_file)
    return SimulatedMachine(
        name,
        world,
        program,
        folder,
        options.timing.faster(options.speed),
        standing=state,
        on_change=partial(standing.save, state_file, state),
        write_bytes_per_s=options.write_bytes_per_s,
    )


def _prepare(state_dir: Path) -> None:
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)


def _allow_many_sockets() -> None:
    """A listener per BMC and a few clients each: raise the soft limit as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
