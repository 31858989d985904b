"""Real network boots: QEMU, our dnsmasq, iPXE, a Debian kernel, the RAM disk."""

import asyncio
import os
import signal
from ipaddress import IPv4Address
from pathlib import Path
from typing import Literal

import pytest
from boot_server import AGENT_URL, BOOT_URL, TAPS, boot_server

from lab.network import BRIDGE
from lab.processes import ProcessBook, start_time
from lab.qemu import QemuMachine, QemuShape
from metalwright.drivers.netboot.dhcp_plan import DhcpHost, DhcpPlan
from metalwright.drivers.netboot.dnsmasq import serve_dnsmasq
from metalwright.drivers.netboot.ramdisk import RamDisk, build_ramdisk
from metalwright.model.hardware import BootTarget, Identity, PowerState
from metalwright.model.ids import NodeName, RackName
from metalwright.model.spec import NodeSpec

pytestmark = pytest.mark.real

BOOT_DEADLINE_S = 400
"""Wall time on a busy two-core machine without acceleration; an idle one needs 15 to 40 s."""
NODE = NodeSpec(
    name=NodeName("n1"), rack=RackName("r1"), unit=1, profile="p", serial="LABSER1", bmc="https://127.0.1.1",
    boot_mac="52:54:00:77:00:01", uuid="6b1b2c5e-0f5a-4d7e-9a53-000000000001",
)  # fmt: skip
IDENTITY = Identity(system_serial=NODE.serial, board_serial="LABBOARD1", uuid=NODE.uuid, manufacturer="metalwright", model="lab")
SCRIPT = f"""#!ipxe
kernel {BOOT_URL}/ramdisk/vmlinuz initrd=initrd console=ttyS0 quiet mw.agent_url={AGENT_URL} mw.pin={{pin}}
initrd --name initrd {BOOT_URL}/ramdisk/initrd
boot
"""


def plan(mac: str = NODE.boot_mac) -> DhcpPlan:
    host = DhcpHost(node=NODE.name, mac=mac, address=IPv4Address("10.77.0.10"))
    return DhcpPlan(interface=BRIDGE, range_start=host.address, hosts=(host,), boot_url=BOOT_URL)


def machine(folder: Path, firmware: Literal["uefi", "bios"], *, network_rom: bool) -> QemuMachine:
    shape = QemuShape(
        node=NODE,
        identity=IDENTITY,
        folder=folder / "n1",
        tap=TAPS[0],
        drive_serial="LABNVME1",
        firmware=firmware,
        network_rom=network_rom,
    )
    return QemuMachine(shape, ProcessBook(folder / "processes.json"))


async def run_boot(
    folder: Path, disk: RamDisk, firmware: Literal["uefi", "bios"], network_rom: bool
) -> tuple[dict[str, object], list[str]]:
    files = {
        "/boot/52-54-00-77-00-01.ipxe": SCRIPT.encode(),
        "/ramdisk/vmlinuz": disk.vmlinuz.read_bytes(),
        "/ramdisk/initrd": disk.initrd.read_bytes(),
        "/ipxe/snponly.efi": Path("/usr/lib/ipxe/snponly.efi").read_bytes(),
    }
    node = machine(folder, firmware, network_rom=network_rom)
    async with boot_server(files, folder) as heard, serve_dnsmasq(plan()):
        try:
            await node.set_boot(BootTarget.NETWORK, once=True)
            await node.set_power("on")
            assert await node.power() is PowerState.ON
            async with asyncio.timeout(BOOT_DEADLINE_S):
                return await heard.reports.get(), heard.paths
        except TimeoutError:
            pytest.fail(f"no report within {BOOT_DEADLINE_S} s; console ends: {node.console.read_text(errors='replace')[-800:]}")
        finally:
            await node.close()
            assert await node.power() is PowerState.OFF


@pytest.mark.parametrize(
    ("firmware", "network_rom"), [("bios", True), ("uefi", True), ("uefi", False)], ids=["bios-ipxe-rom", "uefi-ipxe-rom", "uefi-own-pxe"]
)
def test_the_agent_reports_from_the_ram_disk(
    lab_network: str, tmp_path: Path, probe_ramdisk: RamDisk, firmware: Literal["uefi", "bios"], network_rom: bool
) -> None:
    """Power on leads to a report over pinned TLS that names the serial of the spec and the drive of the machine."""
    report, paths = asyncio.run(run_boot(tmp_path, probe_ramdisk, firmware, network_rom))
    assert report["serial"] == NODE.serial
    assert report["disks"] == {"nvme0n1": "LABNVME1"}
    assert paths[0] == "/boot/52-54-00-77-00-01.ipxe"


def test_a_machine_that_is_not_in_the_spec_gets_nothing(lab_network: str, tmp_path: Path) -> None:
    """dnsmasq sees its DISCOVER and does not answer."""

    async def stranger() -> list[str]:
        node = machine(tmp_path, "bios", network_rom=True)
        async with serve_dnsmasq(plan(mac="52:54:00:77:00:99")) as status:
            try:
                await node.set_boot(BootTarget.NETWORK, once=True)
                await node.set_power("on")
                async with asyncio.timeout(BOOT_DEADLINE_S):
                    while not any("DHCPDISCOVER" in line and NODE.boot_mac in line for line in status.log_lines):
                        await asyncio.sleep(0.1)
            finally:
                await node.close()
        return list(status.log_lines)

    lines = asyncio.run(stranger())
    assert any(f"{NODE.boot_mac} ignored" in line for line in lines), lines
    assert not any("DHCPOFFER" in line for line in lines), lines


def test_dnsmasq_is_restarted_and_leaves_nothing_behind(lab_network: str) -> None:
    """Killed, it comes back; when the block ends, its process is gone. It never runs as root."""

    async def kill_once() -> tuple[int, int]:
        async with serve_dnsmasq(plan()) as status:
            first = status.pid
            owner = Path(f"/proc/{first}").stat().st_uid
            assert owner != 0
            os.kill(first, signal.SIGKILL)
            async with asyncio.timeout(20):
                while status.starts < 2 or ": TFTP root is" not in "\n".join(status.log_lines[-10:]):
                    await asyncio.sleep(0.05)
            return first, status.pid

    first, second = asyncio.run(kill_once())
    assert first != second
    assert not start_time(first) and not start_time(second)


def test_the_ram_disk_is_the_same_twice(tmp_path: Path, probe_ramdisk: RamDisk, probe_package: Path) -> None:
    """Two builds, some time apart, give one digest."""
    again = build_ramdisk(tmp_path, package=probe_package)
    assert again.initrd != probe_ramdisk.initrd
    assert again.digest == probe_ramdisk.digest
