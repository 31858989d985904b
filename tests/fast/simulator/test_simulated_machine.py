"""Power, boot order and boot paths of a simulated server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from metalwright.model import node_data
from metalwright.model.agent_messages import BootArguments
from metalwright.model.errors import TemporaryError
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.ids import NodeName
from metalwright.model.spec import StoredSpec
from metalwright.ports import BootedMachine
from metalwright.simulator import netboot
from metalwright.simulator.machine import SimulatedMachine
from metalwright.simulator.site import SimulatedSite
from tests.fast.simulator.redfish_client import Client, Reply
from tests.fast.simulator.simulated_runs import PASSWORD, USER, RecordingProgram, boot_server, running, until
from tests.fast.simulator.simulated_sites import SMALL, make_site

N1 = NodeName("n1")
SCRIPT = """#!ipxe
set base {url}
kernel ${{base}}/ramdisk/vmlinuz initrd=initrd mw.agent_url=https://127.0.0.1:8443 mw.pin=sha256:aa mw.token=tok mw.images=${{base}} quiet
initrd ${{base}}/ramdisk/initrd
boot
"""
HOST = "/redfish/v1/Systems/System_0"
ONCE = {"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideMode": "UEFI"}}


@contextlib.asynccontextmanager
async def booting(script: str | None = SCRIPT) -> AsyncIterator[tuple[StoredSpec, list[str]]]:
    """A site of one small node and a boot server that gives it this script (None: it has none); the paths it was asked for."""
    async with boot_server(lambda url, path: script.format(url=url) if script else None) as (url, asked):
        yield make_site(profile=SMALL, boot_url=url), asked


Story = Callable[[SimulatedSite, SimulatedMachine, RecordingProgram], Awaitable[None]]


def on_machine(folder: Path, story: Story, script: str | None = SCRIPT) -> None:
    """Tell a story of one machine."""

    async def run() -> None:
        program = RecordingProgram()
        async with booting(script) as (stored, _), running(stored, folder, program) as site:
            await story(site, site.machines[N1], program)

    asyncio.run(run())


async def start_from_network(machine: SimulatedMachine) -> None:
    await machine.set_boot(BootTarget.NETWORK, False)
    await machine.set_power("on")


def test_network_boot_runs_the_program(tmp_path: Path) -> None:
    """Override plus power-on over Redfish: the machine asks for the script of its MAC and runs the agent with the script's words, once."""

    async def run() -> None:
        program = RecordingProgram()
        async with booting() as (stored, asked), running(stored, tmp_path, program) as site:
            client = Client(stored.spec.nodes[0].bmc, USER, PASSWORD)
            assert (await client.patch(HOST, ONCE)).status == 204
            assert (await client.post(f"{HOST}/Actions/ComputerSystem.Reset", {"ResetType": "On"})).status == 204
            machine, arguments = await program.boot(1)
            assert asked == ["/boot/52-54-00-00-00-00.ipxe"]
            assert (arguments.stage, arguments.token, arguments.pin) == ("ram", "tok", "sha256:aa")
            assert arguments.images_url == stored.spec.netboot.boot_url
            assert machine.describe()["system_serial"] == "SN000001"
            assert await site.machines[N1].boot() == (BootTarget.NONE, False)
            shown = (await client.get(HOST)).body
            assert (shown["PowerState"], shown["Boot"]["BootSourceOverrideEnabled"]) == ("On", "Disabled")

    asyncio.run(run())


def reset_time(reply: Reply) -> str:
    """ISO 8601 in UTC: texts compare as times."""
    return str(reply.body["LastResetTime"])


def test_every_boot_has_a_new_boot_id(tmp_path: Path) -> None:
    """Reset, and restart of the simulator: the same seed never repeats a boot id, and LastResetTime moves with each."""

    async def run() -> None:
        program = RecordingProgram()
        async with booting() as (stored, _):
            async with running(stored, tmp_path, program) as site:
                await start_from_network(site.machines[N1])
                await program.boot(1)
                first = await Client(stored.spec.nodes[0].bmc, USER, PASSWORD).get(HOST)
                await site.machines[N1].set_power("reset")
                await program.boot(2)
                second = await Client(stored.spec.nodes[0].bmc, USER, PASSWORD).get(HOST)
            async with running(stored, tmp_path, program):
                await program.boot(3)
        assert reset_time(first) < reset_time(second)
        ids = [machine.describe()["boot_id"] for machine, _ in program.boots]
        assert len(ids) == len(set(ids)) == 3

    asyncio.run(run())


def test_power_off_ends_the_program_at_once(tmp_path: Path) -> None:
    """Off means off: the program is cancelled before the call returns, and the state follows."""

    async def story(site: SimulatedSite, machine: SimulatedMachine, program: RecordingProgram) -> None:
        await start_from_network(machine)
        await program.boot(1)
        await machine.set_power("off")
        assert program.ended == 1
        assert await machine.power() is PowerState.TURNING_OFF
        await until(lambda: machine.standing.power is PowerState.OFF)

    on_machine(tmp_path, story)


def install(boot: BootedMachine, serial: str) -> None:
    """Put a node-data slot on a disk, as the agent does after writing an image."""
    disk = boot.open_disk(serial)
    words = {"agent_url": "https://127.0.0.1:8443", "pin": "sha256:bb", "images_url": "http://127.0.0.1:1", "image_digest": "sha256:cc"}
    disk.write(0, bytes(range(256)) * 4096)
    disk.write(node_data.slot_offset(disk.size_bytes), node_data.pack(node_data.NodeData(node="n1", token="second", **words)))
    disk.flush()
    disk.close()


def test_disk_boot_runs_what_was_written(tmp_path: Path) -> None:
    """An empty disk does not boot; after the node-data slot is written, it does, and survives a restart of the simulator."""

    async def run() -> None:
        program = RecordingProgram()
        async with booting() as (stored, _):
            async with running(stored, tmp_path, program) as site:
                machine = site.machines[N1]
                await machine.set_power("on")
                await until(lambda: machine.happening == "no bootable device")
                assert await machine.power() is PowerState.ON
                await machine.set_boot(BootTarget.NETWORK, True)
                await machine.set_power("reset")
                boot, _ = await program.boot(1)
                serial = site.world.parts(N1).drives[1].serial or ""
                install(boot, serial)
                await machine.set_power("reset")
                booted, arguments = await program.boot(2)
                assert (arguments.stage, arguments.token) == ("installed", "second")
                assert booted.describe()["root_disk_serial"] == serial
            async with running(stored, tmp_path, program):
                _, arguments = await program.boot(3)
                assert arguments.stage == "installed"

    asyncio.run(run())


def test_power_cut_loses_what_was_not_flushed(tmp_path: Path) -> None:
    """Flushed bytes survive a power cut; unflushed ones are gone, and the disk of the dead boot refuses further work."""

    async def story(site: SimulatedSite, machine: SimulatedMachine, program: RecordingProgram) -> None:
        await start_from_network(machine)
        boot, _ = await program.boot(1)
        serial = site.world.parts(N1).drives[0].serial or ""
        disk = boot.open_disk(serial)
        disk.write(0, b"kept")
        disk.flush()
        disk.write(4096, b"lost")
        await machine.cut_power()
        assert await machine.power() is PowerState.OFF
        with pytest.raises(TemporaryError):
            disk.flush()
        await machine.set_power("on")
        again, _ = await program.boot(2)
        assert again.open_disk(serial).read(0, 4) == b"kept"
        assert again.open_disk(serial).read(4096, 4) == bytes(4)

    on_machine(tmp_path, story)


def test_power_cut_in_the_middle_of_a_write(tmp_path: Path) -> None:
    """A cut that was set to come after so many bytes comes then: the write that reaches it fails, and the machine is off."""

    async def story(site: SimulatedSite, machine: SimulatedMachine, program: RecordingProgram) -> None:
        await start_from_network(machine)
        boot, _ = await program.boot(1)
        disk = boot.open_disk(site.world.parts(N1).drives[0].serial or "")
        machine.cut_power_after(3000)
        await asyncio.to_thread(disk.write, 0, bytes(2000))
        with pytest.raises(TemporaryError):
            await asyncio.to_thread(disk.write, 2000, bytes(2000))
        await until(lambda: machine.standing.power is PowerState.OFF)
        assert program.ended == 1

    on_machine(tmp_path, story)


def test_failed_network_boot_falls_through_to_the_disk(tmp_path: Path) -> None:
    """Without a script the firmware gives up after its tries and goes on to the disk, as real boot orders do."""

    async def run() -> None:
        program = RecordingProgram()
        async with booting(None) as (stored, asked), running(stored, tmp_path, program) as site:
            await start_from_network(site.machines[N1])
            await until(lambda: site.machines[N1].happening == "no bootable device")
            assert len(asked) == 5
        assert program.boots == []

    asyncio.run(run())


def test_a_dying_agent_leaves_the_machine_on(tmp_path: Path) -> None:
    """When the program raises, the machine stays on and its console says why: nothing else of the site is harmed."""

    class Dying(RecordingProgram):
        async def run(self, machine: BootedMachine, arguments: BootArguments) -> None:
            raise ValueError("no such frame")

    async def run() -> None:
        async with booting() as (stored, _), running(stored, tmp_path, Dying()) as site:
            await start_from_network(site.machines[N1])
            await until(lambda: "no such frame" in site.machines[N1].happening)
            assert await site.machines[N1].power() is PowerState.ON

    asyncio.run(run())


@pytest.mark.parametrize(
    ("script", "end"),
    [
        (SCRIPT.format(url="http://h"), netboot.StartRamDisk),
        ("#!ipxe\nexit\n", netboot.GoToDisk),
        ("#!ipxe\nsanboot --no-describe --drive 0x80\n", netboot.GoToDisk),
        ("#!ipxe\necho unknown machine\nshell\n", netboot.Stay),
        ("#!ipxe\nkernel vmlinuz quiet\nboot\n", netboot.Stay),
        ("#!ipxe\nkernel vmlinuz mw.agent_url=a mw.pin=b mw.token= mw.images=d\n", netboot.Stay),
        ("", netboot.Stay),
        ("kernel 'unclosed", netboot.Stay),
    ],
)
def test_scripts(script: str, end: type) -> None:
    """A script starts the agent only with all four of its words; anything else goes to the disk or stays."""
    assert isinstance(netboot.read_script(script, "52:54:00:00:00:00"), end)
