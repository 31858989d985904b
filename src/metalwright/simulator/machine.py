"""One simulated server: power, boot order, firmware, what it runs. Implements `ports.Machine`; the BMC face controls it.

A start goes: power on → firmware → network (script, RAM disk) or disk (node data, installed system) → the node's program, until
the power goes or a reset comes.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from metalwright.model import node_data
from metalwright.model.agent_messages import BootArguments
from metalwright.model.errors import TemporaryError
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.ids import NodeName
from metalwright.model.spec import NodeSpec
from metalwright.ports import NodeProgram
from metalwright.simulator import netboot
from metalwright.simulator.booted import INSTALLED_KERNEL, RAM_KERNEL, SimulatedBoot
from metalwright.simulator.diary import Diary
from metalwright.simulator.disks import SimulatedDisk, alter_disk, read_file
from metalwright.simulator.parts import ServerParts
from metalwright.simulator.standing import Standing
from metalwright.simulator.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long things take on every machine, in seconds; real servers take minutes."""

    power_s: float = 0.2
    """From off to on and back."""
    firmware_s: float = 0.5
    kernel_s: float = 0.5
    shutdown_s: float = 0.5
    script_retry_s: float = 1.0
    script_tries: int = 20

    def faster(self, speed: float) -> "Timing":
        """The same, `speed` times as fast; how long a machine asks for a boot script stays: its server restarts no faster."""
        return Timing(
            power_s=self.power_s / speed,
            firmware_s=self.firmware_s / speed,
            kernel_s=self.kernel_s / speed,
            shutdown_s=self.shutdown_s / speed,
            script_retry_s=self.script_retry_s / speed,
            script_tries=round(self.script_tries * speed),
        )


@dataclass(slots=True)
class MachineFaults:
    """How this machine misbehaves."""

    no_netboot: bool = False
    """Never gets a boot script."""
    mute_agent: bool = False
    """Boots, and its program never speaks."""
    second_claim: bool = False
    """Someone else claims each boot token too."""
    altered_disk: bool = False
    """The system disk's content is changed before each start from it."""
    kernel: str = ""
    """The release that runs instead of the right one."""
    installed_serial: str = ""
    """What the installed system reads as the system serial."""
    root_disk: str = ""
    """The serial of the disk that the installed system says it runs from."""


class SimulatedMachine:
    """`ports.Machine`. All methods return at once; the transition goes on by itself."""

    def __init__(
        self,
        name: NodeName,
        world: World,
        program: NodeProgram,
        folder: Path,
        timing: Timing,
        *,
        standing: Standing | None = None,
        on_change: Callable[[], None] = lambda: None,
        write_bytes_per_s: float = 0.0,
    ) -> None:
        self.name = name
        self.faults = MachineFaults()
        self.standing = standing or Standing()
        self.happening = "off"
        """What the console would show, in a few words."""
        self._world = world
        self._program = program
        self._folder = folder
        self._timing = timing
        self._on_change = on_change
        self._write_rate = write_bytes_per_s
        self._cut_after_bytes: int | None = None
        self._running: asyncio.Task[None] | None = None
        self._switching = asyncio.Lock()
        self._open_disks: dict[str, SimulatedDisk] = {}
        self._diary = Diary(folder)

    # -- ports.Machine

    async def power(self) -> PowerState:
        return self.standing.power

    async def boot(self) -> tuple[BootTarget, bool]:
        return self.standing.boot_target, self.standing.boot_once

    async def set_boot(self, target: BootTarget, once: bool) -> None:
        self.standing.boot_target, self.standing.boot_once = target, once
        self._on_change()

    async def set_power(self, to: Literal["on", "off", "shutdown", "reset"]) -> None:
        """`on` when on and `off` when off change nothing; `off` and `reset` stop what runs at once."""
        is_off = self.standing.power in {PowerState.OFF, PowerState.TURNING_OFF}
        match to:
            case "on" if is_off:
                await self._begin(self._start(from_off=True))
            case "off" if self.standing.power is not PowerState.OFF:
                await self._begin(self._stop(self._timing.power_s))
            case "shutdown" if not is_off:
                await self._begin(self._stop(self._timing.shutdown_s))
            case "reset":
                await self._begin(self._start(from_off=is_off))

    # -- for the site

    def resume(self) -> None:
        """After a restart of the simulator: a machine that was on starts again, as after a power failure of the hall."""
        if self.standing.power in {PowerState.ON, PowerState.TURNING_ON}:
            self._running = asyncio.create_task(self._start(from_off=True))

    async def cut_power(self) -> None:
        """The cord is pulled: off at once, unflushed writes are lost. The BMC stays up on standby power."""
        async with self._switching:
            await self._end_running()
        self._diary.note("cut")
        self._set_power(PowerState.OFF, "off: power cut")

    def cut_power_after(self, written_bytes: int) -> None:
        """The same, in the middle of a later write: as soon as that many more bytes were given to the disks."""
        self._cut_after_bytes = written_bytes

    async def close(self) -> None:
        """Stop for good without changing the standing state."""
        async with self._switching:
            await self._end_running()

    # -- transitions

    async def _begin(self, transition: Coroutine[Any, Any, None]) -> None:
        async with self._switching:
            await self._end_running()
            self._running = asyncio.create_task(transition)
        await asyncio.sleep(0)  # the first state of the transition is visible when the caller goes on

    async def _end_running(self) -> None:
        """Cancel what runs and drop the disks' caches, as a loss of power or a reset line does."""
        for disk in self._open_disks.values():
            disk.cut_power()
        self._open_disks.clear()
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
            self._running = None

    def _set_power(self, power: PowerState, happening: str) -> None:
        self.standing.power, self.happening = power, happening
        self._on_change()

    async def _stop(self, after_s: float) -> None:
        self._diary.note("stop")
        self._set_power(PowerState.TURNING_OFF, "shutting down")
        await asyncio.sleep(after_s)
        self._set_power(PowerState.OFF, "off")

    async def _start(self, *, from_off: bool) -> None:
        self.standing.last_reset_at = time.time()
        self._diary.note("start")
        if from_off:
            self._set_power(PowerState.TURNING_ON, "powering on")
            await asyncio.sleep(self._timing.power_s)
        self._set_power(PowerState.ON, "firmware")
        await asyncio.sleep(self._timing.firmware_s)
        if self._take_boot_target() is BootTarget.NETWORK:
            await self._boot_network()
        await self._boot_disk()

    def _take_boot_target(self) -> BootTarget:
        """The override of this start; a one-time one is used up by it."""
        target = self.standing.boot_target
        if self.standing.boot_once:
            self.standing.boot_target, self.standing.boot_once = BootTarget.NONE, False
            self._on_change()
        return target

    # -- boot paths

    async def _boot_network(self) -> None:
        """Returns when the firmware is to go on to the disk."""
        mac = self._node.boot_mac
        url = netboot.script_url(self._world.stored.spec.netboot.boot_url, mac)
        for attempt in range(1, self._timing.script_tries + 1):
            self.happening = f"network boot: asking for a script, try {attempt}"
            end = await self._ask_for_script(url, mac)
            match end:
                case netboot.StartRamDisk(arguments=arguments):
                    await self._run(arguments, root_disk_serial="")
                case netboot.GoToDisk():
                    return
                case netboot.Stay(why=why, again=False):
                    await self._halt(f"boot script: {why}")
            await asyncio.sleep(self._timing.script_retry_s)

    async def _ask_for_script(self, url: str, mac: str) -> netboot.ScriptEnd | None:
        if self.faults.no_netboot:
            return None
        try:
            return netboot.read_script(await netboot.fetch_script(url), mac)
        except TemporaryError as error:
            self.happening = f"network boot: {error.message}"
            return None

    async def _boot_disk(self) -> None:
        """The first disk with a valid node-data slot boots; none: the machine stays on with nothing to run."""
        self.happening = "looking for a bootable disk"
        for drive in self._parts.drives:
            if drive.serial is None or drive.size_bytes is None:
                continue
            path = self.disk_path(drive.serial)
            data = await asyncio.to_thread(_node_data_of, path, drive.size_bytes)
            if data is not None:
                if self.faults.altered_disk:
                    await asyncio.to_thread(alter_disk, path, node_data.slot_offset(drive.size_bytes))
                arguments = BootArguments(
                    agent_url=data.agent_url, pin=data.pin, token=data.token, images_url=data.images_url, stage="installed"
                )
                await self._run(arguments, root_disk_serial=drive.serial)
        await self._halt("no bootable device")

    async def _run(self, arguments: BootArguments, *, root_disk_serial: str) -> None:
        """A kernel and its agent; the machine stays on whatever becomes of the agent. Never returns."""
        self.happening = f"starting the {arguments.stage} system"
        await asyncio.sleep(self._timing.kernel_s)
        self.happening = f"running the {arguments.stage} system"
        boot = self._new_boot(arguments.stage, root_disk_serial)
        if self.faults.mute_agent:
            await self._halt("running, its agent is silent")
        boots = [boot, self._new_boot(arguments.stage, root_disk_serial)] if self.faults.second_claim else [boot]
        died = await _run_all([self._program.run(each, arguments) for each in boots])
        await self._halt(f"running, its agent died: {died}" if died else "running, its agent ended")

    def _new_boot(self, stage: str, root_disk_serial: str) -> SimulatedBoot:
        self.standing.boots += 1
        self._on_change()
        faults = self.faults if stage == "installed" else MachineFaults()
        return SimulatedBoot(
            world=self._world,
            name=self.name,
            kernel=self._kernel(stage),
            boot_number=self.standing.boots,
            root_disk_serial=faults.root_disk or root_disk_serial,
            system_serial=faults.installed_serial,
            open_disk=partial(self._open_disk, asyncio.get_running_loop(), {faults.root_disk: root_disk_serial}),
        )

    def _kernel(self, stage: str) -> str:
        if self.faults.kernel:
            return self.faults.kernel
        return RAM_KERNEL if stage == "ram" else INSTALLED_KERNEL

    async def _halt(self, happening: str) -> None:
        self.happening = happening
        await asyncio.Event().wait()

    # -- disks

    def disk_path(self, serial: str) -> Path:
        """Where the content of the disk with this serial is kept."""
        return self._folder / f"disk-{''.join(letter if letter.isalnum() else '_' for letter in serial)}.raw"

    def _open_disk(self, loop: asyncio.AbstractEventLoop, real: Mapping[str, str], shown: str) -> SimulatedDisk:
        serial = real.get(shown, shown)
        drive = next((each for each in self._parts.drives if each.serial == serial), None)
        if drive is None or drive.size_bytes is None:
            raise KeyError(serial)
        if serial not in self._open_disks:
            path = self.disk_path(serial)
            note = partial(self._note_write, loop, serial)
            self._open_disks[serial] = SimulatedDisk(path, drive.size_bytes, write_bytes_per_s=self._write_rate, on_write=note)
        return self._open_disks[serial]

    def _note_write(self, loop: asyncio.AbstractEventLoop, serial: str, offset: int, length: int) -> None:
        """Called from the threads that write."""
        self._diary.note("write", disk=serial, offset=offset, length=length)
        if self._cut_after_bytes is None:
            return
        self._cut_after_bytes -= length
        if self._cut_after_bytes <= 0:
            self._cut_after_bytes = None
            for disk in list(self._open_disks.values()):
                disk.cut_power()
            asyncio.run_coroutine_threadsafe(self.cut_power(), loop)

    @property
    def _node(self) -> NodeSpec:
        return self._world.node(self.name)

    @property
    def _parts(self) -> ServerParts:
        return self._world.parts(self.name)


def _node_data_of(path: Path, size_bytes: int) -> node_data.NodeData | None:
    return node_data.unpack(read_file(path, node_data.slot_offset(size_bytes), node_data.SLOT_BYTES))


async def _run_all(programs: list[Coroutine[Any, Any, None]]) -> str:
    """Until all ended by themselves; what killed one of them, in words, or nothing."""
    tasks = [asyncio.create_task(program) for program in programs]
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    causes = [task.exception() for task in tasks if not task.cancelled()]
    return "; ".join(f"{type(cause).__name__}: {cause}" for cause in causes if cause is not None)
