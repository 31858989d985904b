"""One machine made of QEMU: power, reset and boot order as a BMC would do them.

Every power-on is a new process, and a restart asked by the guest is one too (`-no-reboot`): so the boot override counts for one start, and
a process is one boot. Software emulation only: a host's /dev/kvm may exist and still not work.
"""

import asyncio
import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from lab.processes import ProcessBook
from lab.qmp import Qmp
from metalwright.drivers.debian.tree import last_words
from metalwright.model.errors import InputError, TemporaryError
from metalwright.model.hardware import BootTarget, Identity, PowerState
from metalwright.model.spec import NodeSpec

OVMF_CODE = Path("/usr/share/OVMF/OVMF_CODE_4M.fd")
OVMF_VARS = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QemuShape:
    """What the machine is made of. `firmware`: `uefi` or `bios`. `network_rom`: iPXE in the card; without it UEFI's own network boot.

    `cpu_deadline_s` is CPU time of one process: firmware that waits for a dead server burns minutes, and this ends it.
    """

    node: NodeSpec
    identity: Identity
    folder: Path
    tap: str
    drive_serial: str
    drive_bytes: int = 2 << 30
    cpus: int = 1
    memory_mib: int = 1024
    firmware: Literal["uefi", "bios"] = "uefi"
    network_rom: bool = True
    cpu_deadline_s: int = 3600


class QemuMachine:
    """Implements `ports.Machine`. Serial console in `<folder>/console.log`, drive in `<folder>/drive.raw`."""

    def __init__(self, shape: QemuShape, book: ProcessBook) -> None:
        self._shape = shape
        self._book = book
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._qmp: Qmp | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._target = BootTarget.NONE
        self._once = False
        self.starts = 0

    @property
    def console(self) -> Path:
        return self._shape.folder / "console.log"

    @property
    def drive(self) -> Path:
        return self._shape.folder / "drive.raw"

    async def power(self) -> PowerState:
        return PowerState.ON if self._process is not None and self._process.returncode is None else PowerState.OFF

    async def set_power(self, to: Literal["on", "off", "shutdown", "reset"]) -> None:
        """`shutdown` only presses the button: whether the guest obeys shows in `power`."""
        async with self._turn:
            is_on = await self.power() is PowerState.ON
            match to:
                case "on":
                    await (asyncio.sleep(0) if is_on else self._start())
                case "off":
                    await self._stop()
                case "shutdown":
                    await (self._press_button() if is_on else asyncio.sleep(0))
                case "reset":
                    await self._stop()
                    await self._start()
                case _:
                    assert_never(to)

    async def set_boot(self, target: BootTarget, once: bool) -> None:
        self._target, self._once = target, once

    async def boot(self) -> tuple[BootTarget, bool]:
        return self._target, self._once

    async def close(self) -> None:
        """Off, and nothing left running."""
        async with self._turn:
            await self._stop()

    async def _press_button(self) -> None:
        if self._qmp is not None:
            await self._qmp.run("system_powerdown")

    async def _start(self) -> None:
        prepare_folder(self._shape)
        socket = self._shape.folder / "qmp.sock"
        socket.unlink(missing_ok=True)
        target, self._target = self._target, BootTarget.NONE if self._once else self._target
        self._once = False
        with (self._shape.folder / "qemu.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *qemu_arguments(self._shape, target), stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._process, self.starts = process, self.starts + 1
        self._book.note(process.pid)
        try:
            self._qmp = await Qmp.connect(socket, START_TIMEOUT_S)
        except TemporaryError as failed:
            await self._stop()
            words = last_words((self._shape.folder / "qemu.log").read_text(errors="replace"))
            raise TemporaryError(f"QEMU of {self._shape.node.name} did not start: {words}") from failed
        self._keeper = asyncio.create_task(self._restart_when_guest_resets(process, self._qmp))

    async def _restart_when_guest_resets(self, process: asyncio.subprocess.Process, qmp: Qmp) -> None:
        await process.wait()
        await qmp.drain_events()
        async with self._turn:
            if self._process is process and qmp.shutdown_reason == "guest-reset":
                await self._start()

    async def _stop(self) -> None:
        """Pull the plug: quit loses nothing that the guest has flushed."""
        process, self._process, qmp, self._qmp = self._process, None, self._qmp, None
        if process is None:
            return
        if qmp is not None and process.returncode is None:
            with contextlib.suppress(TemporaryError):
                await qmp.run("quit")
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S if qmp is not None else 0):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def prepare_folder(shape: QemuShape) -> None:
    """Drive and firmware variables of a new machine; those of a known one are kept."""
    shape.folder.mkdir(parents=True, exist_ok=True)
    drive, variables = shape.folder / "drive.raw", shape.folder / "firmware-variables.fd"
    if not drive.exists():
        with drive.open("wb") as opened:
            opened.truncate(shape.drive_bytes)
    if shape.firmware == "uefi" and not variables.exists():
        if not OVMF_VARS.exists():
            raise InputError(f"{OVMF_VARS} is missing", hint="install the package ovmf")
        shutil.copyfile(OVMF_VARS, variables)


def qemu_arguments(shape: QemuShape, target: BootTarget) -> list[str]:
    """The command line of one start. setpriv ends QEMU with its parent; prlimit bounds its CPU time."""
    node = shape.node
    who = shape.identity
    made = f"manufacturer={who.manufacturer},product={who.model}"
    first, second = (0, 1) if target is BootTarget.NETWORK else (1, 0)
    rom = "" if shape.network_rom else ",romfile="
    return [
        "prlimit", f"--cpu={shape.cpu_deadline_s}", "setpriv", "--pdeathsig=KILL",
        "qemu-system-x86_64", "-name", node.name, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot",
        "-machine", "q35", "-accel", "tcg,tb-size=256", "-cpu", "qemu64,+rdrand",  # without rdrand the kernel gathers entropy for 4 s
        "-smp", str(shape.cpus), "-m", str(shape.memory_mib),
        "-smbios", f"type=1,{made},serial={who.system_serial},uuid={who.uuid}", "-smbios", f"type=2,{made},serial={who.board_serial}",
        *_firmware(shape),
        "-chardev", f"file,id=console,path={shape.folder / 'console.log'},append=on", "-serial", "chardev:console",
        "-qmp", f"unix:{shape.folder / 'qmp.sock'},server=on,wait=off",
        "-netdev", f"tap,id=net0,ifname={shape.tap},script=no,downscript=no",
        "-device", f"virtio-net-pci,netdev=net0,mac={node.boot_mac},bootindex={first}{rom}",
        "-drive", f"file={shape.folder / 'drive.raw'},if=none,id=drive0,format=raw,discard=unmap,cache=unsafe",
        "-device", f"nvme,drive=drive0,serial={shape.drive_serial},bootindex={second}",
    ]  # fmt: skip


def _firmware(shape: QemuShape) -> list[str]:
    if shape.firmware == "bios":
        return []
    return [
        "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={OVMF_CODE}",
        "-drive", f"if=pflash,format=raw,unit=1,file={shape.folder / 'firmware-variables.fd'}",
    ]  # fmt: skip
