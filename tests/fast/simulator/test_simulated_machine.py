"""Power, boot order and boot paths of a simulated server."""

import asyncio
from pathlib import Path

from redfish_client import Client
from simulated_runs import PASSWORD, USER, RecordingProgram, boot_server, running, until
from simulated_sites import SMALL, make_site

from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.ids import NodeName
from metalwright.ports import BootedMachine
from metalwright.simulator import node_data

N1 = NodeName("n1")
SCRIPT = """#!ipxe
set base {url}
kernel ${{base}}/ramdisk/vmlinuz initrd=initrd mw.agent_url=https://127.0.0.1:8443 mw.pin=sha256:aa mw.token=tok mw.images={url} quiet
initrd ${{base}}/ramdisk/initrd
boot
"""
HOST = "/redfish/v1/Systems/System_0"
ONCE = {"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideMode": "UEFI"}}


def test_network_boot_runs_the_program(tmp_path: Path) -> None:
    """Override plus power-on over Redfish: the machine asks for the script of its MAC and runs the agent with the script's words, once."""

    async def run() -> None:
        program = RecordingProgram()
        url = ""
        async with boot_server(lambda path: SCRIPT.format(url=url)) as (url, asked):
            stored = make_site(profile=SMALL, boot_url=url)
            async with running(stored, tmp_path, program) as site:
                client = Client(stored.spec.nodes[0].bmc, USER, PASSWORD)
                assert (await client.patch(HOST, ONCE)).status == 204
                assert (await client.post(f"{HOST}/Actions/ComputerSystem.Reset", {"ResetType": "On"})).status == 204
                machine, arguments = await program.boot(1)
                assert asked == ["/boot/52-54-00-00-00-00.ipxe"]
                assert (arguments.stage, arguments.token, arguments.pin) == ("ram", "tok", "sha256:aa")
                assert machine.describe()["system_serial"] == "SN000001"
                assert await site.machines[N1].boot() == (BootTarget.NONE, False)
                shown = (await client.get(HOST)).body
                assert (shown["PowerState"], shown["Boot"]["BootSourceOverrideEnabled"]) == ("On", "Disabled")

    asyncio.run(run())


def test_every_boot_has_a_new_boot_id(tmp_path: Path) -> None:
    """Reset, and restart of the simulator: the same seed never repeats a boot id."""

    async def run() -> None:
        program = RecordingProgram()
        url = ""
        async with boot_server(lambda path: SCRIPT.format(url=url)) as (url, _):
            stored = make_site(profile=SMALL, boot_url=url)
            for count in (1, 3):
                async with running(stored, tmp_path, program) as site:
                    await site.machines[N1].set_boot(BootTarget.NETWORK, False)
                    await site.machines[N1].set_power("on")
                    await program.boot(count)
                    await site.machines[N1].set_power("reset")
                    await program.boot(count + 1)
        ids = [machine.describe()["boot_id"] for machine, _ in program.boots]
        assert len(ids) == len(set(ids)) == 4

    asyncio.run(run())


def test_power_off_ends_the_program_at_once(tmp_path: Path) -> None:
    """Off means off: the program is cancelled before the call returns, and the state follows."""

    async def run() -> None:
        program = RecordingProgram()
        url = ""
        async with boot_server(lambda path: SCRIPT.format(url=url)) as (url, _):
            async with running(make_site(profile=SMALL, boot_url=url), tmp_path, program) as site:
                machine = site.machines[N1]
                await machine.set_boot(BootTarget.NETWORK, True)
                await machine.set_power("on")
                await program.boot(1)
                await machine.set_power("off")
                assert program.ended == 1
                assert await machine.power() is PowerState.TURNING_OFF
                await until(lambda: machine.standing.power is PowerState.OFF)

    asyncio.run(run())


def install(boot: BootedMachine, serial: str) -> None:
    """Put a node-data slot on a disk, as the agent does after writing an image."""
    disk = boot.open_disk(serial)
    words = {"agent_url": "https://127.0.0.1:8443", "pin": "sha256:bb", "images_url": "http://127.0.0.1:1", "image_digest": "sha256:cc"}
    slot = node_data.encode(node_data.NodeData(node="n1", token="second", **words))
    disk.write(disk.size_bytes - node_data.SLOT_BYTES, slot)
    disk.flush()
    disk.close()


def test_disk_boot_runs_what_was_written(tmp_path: Path) -> None:
    """An empty disk does not boot; after the node-data slot is written, it does, and survives a restart of the simulator."""

    async def run() -> None:
        program = RecordingProgram()
        url = ""
        async with boot_server(lambda path: SCRIPT.format(url=url)) as (url, _):
            stored = make_site(profile=SMALL, boot_url=url)
            async with running(stored, tmp_path, program) as site:
                machine = site.machines[N1]
                await machine.set_power("on")
                await until(lambda: machine.happening == "no bootable device")
                assert await machine.power() is PowerState.ON
                await machine.set_boot(BootTarget.NETWORK, True)
                await machine.set_power("reset")
                boot, _ = await program.boot(1)
                serial = site.world.parts(N1).drives[1].serial
                assert serial
                install(boot, serial)
                await machine.set_power("reset")
                booted, arguments = await program.boot(2)
                assert (arguments.stage, arguments.token) == ("installed", "second")
                assert booted.describe()["root_disk_serial"] == serial
            async with running(stored, tmp_path, program) as site:
                _, arguments = await program.boot(3)
                assert arguments.stage == "installed"

    asyncio.run(run())


def test_power_cut_loses_what_was_not_flushed(tmp_path: Path) -> None:
    """Flushed bytes survive a power cut; unflushed ones are gone, and the disk of the dead boot refuses further work."""

    async def run() -> None:
        program = RecordingProgram()
        url = ""
        async with boot_server(lambda path: SCRIPT.format(url=url)) as (url, _):
            async with running(make_site(profile=SMALL, boot_url=url), tmp_path, program) as site:
                machine = site.machines[N1]
                await machine.set_boot(BootTarget.NETWORK, False)
                await machine.set_power("on")
                boot, _ = await program.boot(1)
                serial = site.world.parts(N1).drives[0].serial or ""
                disk = boot.open_disk(serial)
                disk.write(0, b"kept")
                disk.flush()
                disk.write(4096, b"lost")
                await machine.cut_power()
                assert await machine.power() is PowerState.OFF
                await machine.set_power("on")
                again, _ = await program.boot(2)
                assert again.open_disk(serial).read(0, 4) == b"kept"
                assert again.open_disk(serial).read(4096, 4) == bytes(4)

    asyncio.run(run())


def test_failed_network_boot_falls_through_to_the_disk(tmp_path: Path) -> None:
    """Without a script the firmware gives up after its tries and goes on to the disk, as real boot orders do."""

    async def run() -> None:
        program = RecordingProgram()
        async with boot_server(lambda path: None) as (url, asked):
            async with running(make_site(profile=SMALL, boot_url=url), tmp_path, program) as site:
                machine = site.machines[N1]
                await machine.set_boot(BootTarget.NETWORK, True)
                await machine.set_power("on")
                await until(lambda: machine.happening == "no bootable device")
                assert len(asked) == 5
        assert program.boots == []

    asyncio.run(run())
