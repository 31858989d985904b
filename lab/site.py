"""A lab: the machines of a site folder as QEMU processes, their BMCs on loopback, all in a network namespace of its own.

`prepare` needs the Debian mirror and so runs on the host's network; `open_lab` runs inside the namespace.
"""

import contextlib
import fcntl
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.network import create_network, enter_network, remove_network
from lab.parts import parts_of_machine
from lab.processes import ProcessBook
from lab.qemu import QemuMachine, QemuShape
from metalwright.codec.secrets import resolve
from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.model.spec import BootPath, StoredSpec
from metalwright.service.image_work import build_images
from metalwright.simulator.redfish.app import RedfishSite
from metalwright.simulator.redfish.server import serve_bmcs
from metalwright.simulator.world import World

MEMORY_MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """What is running."""

    world: World
    machines: Mapping[NodeName, QemuMachine]
    redfish: RedfishSite


def prepare(site: Path, say: Callable[[str], None]) -> None:
    """RAM disk and images of the site, built or taken from the cache."""
    for result in build_images(site, None, say):
        say(f"{result.name} {result.state} {result.digest[:19]}")


def namespace_of(state: Path) -> str:
    """One namespace per state folder; its name needs no record, so a killed lab is found again."""
    return f"mwlab-{hashlib.sha256(str(state.resolve()).encode()).hexdigest()[:8]}"


@contextlib.contextmanager
def only_lab(state: Path) -> Iterator[None]:
    """One lab per state folder: cleaning up must never end a lab that runs. The lock goes with its process."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lab.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            raise InputError(f"a lab is running in {state}", hint="stop it first, or choose another --state") from taken
        yield


def clean(state: Path) -> None:
    """End what an earlier run of this state folder left behind: QEMU processes, then the namespace."""
    book = ProcessBook(state / "processes.json")
    book.stop_all()
    remove_network(namespace_of(state))


@contextlib.contextmanager
def lab_network(stored: StoredSpec, state: Path) -> Iterator[None]:
    """This process is inside a fresh namespace while the block runs; afterwards nothing is left of it."""
    clean(state)
    namespace = namespace_of(state)
    create_network(namespace, [tap_name(index) for index in range(len(stored.spec.nodes))])
    try:
        enter_network(namespace)
        yield
    finally:
        clean(state)


@contextlib.asynccontextmanager
async def open_lab(site: Path, stored: StoredSpec, state: Path) -> AsyncIterator[Lab]:
    """BMCs answer while the block runs; machines start when a BMC is told to. All are off at the end."""
    if not stored.spec.site.simulated:
        raise InputError(f"{site} declares real hardware", hint="metalwright init DIR --kind lab makes a site for a lab")
    world, book = World(stored, 0), ProcessBook(state / "processes.json")
    machines = {name: _machine(world, name, index, state, book) for index, name in enumerate(world.names())}
    secrets = stored.spec.secrets.bmc
    redfish = RedfishSite(world, machines, user=resolve(secrets.user, site).reveal(), password=resolve(secrets.password, site))
    async with serve_bmcs(redfish, state):
        try:
            yield Lab(world=world, machines=machines, redfish=redfish)
        finally:
            for machine in machines.values():
                await machine.close()


def tap_name(index: int) -> str:
    return f"lab{index}"


def _machine(world: World, name: NodeName, index: int, state: Path, book: ProcessBook) -> QemuMachine:
    declared = world.intact_parts(name)
    parts = parts_of_machine(declared, cpus=1, memory_mib=MEMORY_MIB)
    world.rebuild(name, parts)
    if len(parts.drives) != 1 or parts.drives[0].serial is None or parts.drives[0].size_bytes is None:
        raise InputError(f"node {name}: a lab machine has one NVMe drive", hint="use the profile virtual-gpu-0")
    system = world.stored.spec.system
    shape = QemuShape(
        node=world.node(name),
        identity=parts.identity,
        folder=state / "nodes" / name,
        tap=tap_name(index),
        drive_serial=parts.drives[0].serial,
        drive_bytes=parts.drives[0].size_bytes,
        memory_mib=MEMORY_MIB,
        firmware="bios" if system is not None and system.boot is BootPath.BIOS_PXE else "uefi",
    )
    return QemuMachine(shape, book)
