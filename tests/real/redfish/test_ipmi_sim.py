"""The IPMI driver against OpenIPMI's simulator: an independent IPMI 2.0 server with a FRU, a power switch and a boot device."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from metalwright.drivers.ipmi.driver import IpmiBmc, IpmiFactory
from metalwright.model.bmc_actions import SetBios
from metalwright.model.errors import MachineFault
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.ids import NodeName, RackName
from metalwright.model.observation import HardwareSeen, HealthSeen, Kind, Observation, PowerSeen
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec
from metalwright.ports import SetBoot, SetPower

pytestmark = pytest.mark.real
SERIAL = "SN-IPMI-1"
LAN = """
name "metal"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{folder}/chassis"
  user 1 true "" "none" user 10 none md2 md5 straight
  user 2 true "operator" "correct-horse" admin 10 none md2 md5 straight
"""
EMU = """
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_add_fru_data 0x20 0 {size} file 0 "{folder}/fru"
mc_enable 0x20
"""
CHASSIS = """#!/bin/sh
cd {folder} || exit 1
operation=$1; shift
while [ $# -gt 0 ]; do
  case $operation in
    get) echo "$1:$(cat "$1")"; shift ;;
    set) echo "$2" > "$1"; echo "$1 $2" >> done; shift 2 ;;
    *) exit 0 ;;
  esac
done
"""


class WallClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Simulated:
    """A running simulator; `done` are the changes its chassis was told."""

    url: str
    folder: Path

    def done(self) -> list[str]:
        path = self.folder / "done"
        return path.read_text().splitlines() if path.exists() else []

    def open(self, serial: str = SERIAL, password: str = "correct-horse", timeout_s: float = 30.0) -> IpmiBmc:
        node = NodeSpec(
            name=NodeName("n1"), rack=RackName("r1"), unit=1, profile="c", serial=serial, bmc=self.url, boot_mac="02:00:00:00:00:01"
        )
        return IpmiFactory(lambda _: (Secret("operator"), Secret(password)), WallClock(), timeout_s=timeout_s).open(node)


@pytest.fixture
def simulated(tmp_path: Path) -> Iterator[Simulated]:
    """A machine that is off."""
    for program in ("ipmi_sim", "ipmitool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian packages openipmi and ipmitool)")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    fru = fru_image()
    (tmp_path / "fru").write_bytes(fru)
    (tmp_path / "lan").write_text(LAN.format(port=port, folder=tmp_path))
    (tmp_path / "emu").write_text(EMU.format(size=len(fru), folder=tmp_path))
    (tmp_path / "chassis").write_text(CHASSIS.format(folder=tmp_path))
    (tmp_path / "chassis").chmod(0o755)
    (tmp_path / "power").write_text("0")
    (tmp_path / "boot").write_text("none")
    command = ["ipmi_sim", "-c", str(tmp_path / "lan"), "-f", str(tmp_path / "emu"), "-s", str(tmp_path / "state"), "-n"]
    (tmp_path / "state").mkdir()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_bound(port, process)
            yield Simulated(f"ipmi://127.0.0.1:{port}", tmp_path)
        finally:
            process.kill()


def wait_until_bound(port: int, process: "subprocess.Popen[bytes]") -> None:
    wanted = f"0100007F:{port:04X}"
    deadline = time.monotonic() + 20
    while wanted not in Path("/proc/net/udp").read_text():
        assert process.poll() is None, "ipmi_sim ended"
        assert time.monotonic() < deadline, "ipmi_sim does not listen"
        time.sleep(0.05)


def fru_image() -> bytes:
    """A FRU with one product area (Platform Management FRU Information Storage Definition v1.3, sections 8 and 12)."""

    def field(text: str) -> bytes:
        return bytes([0xC0 | len(text)]) + text.encode()

    body = bytes([1, 0, 25]) + b"".join(map(field, ("Maker", "Box 8", "PN-1", "v1", SERIAL, "", ""))) + b"\xc1"
    body += b"\x00" * (-(len(body) + 1) % 8)
    body = bytes([body[0], (len(body) + 1) // 8]) + body[2:]
    head = bytes([1, 0, 0, 0, 1, 0, 0])
    image = head + checksum(head) + body + checksum(body)
    return image + b"\x00" * (256 - len(image))


def checksum(area: bytes) -> bytes:
    return bytes([-sum(area) & 0xFF])


def run(coroutine: object) -> object:
    return asyncio.run(coroutine)  # type: ignore[arg-type]


def test_power_and_boot(simulated: Simulated) -> None:
    """Power is switched once per change and read back; the boot device reaches the chassis; the serial is the FRU's."""

    async def drive() -> list[PowerSeen]:
        bmc = simulated.open()
        seen = []
        for action in (SetPower(to="on"), SetPower(to="on"), SetBoot(target=BootTarget.NETWORK, once=True, path="uefi-pxe")):
            await bmc.act(action)
        for power in ("off", "off", "reset"):
            body = (await bmc.read(Kind.BMC_POWER)).body
            assert isinstance(body, PowerSeen)
            seen.append(body)
            await bmc.act(SetPower(to=power))  # type: ignore[arg-type]
        return seen

    seen = run(drive())
    assert [look.power for look in seen] == [PowerState.ON, PowerState.OFF, PowerState.OFF]  # type: ignore[attr-defined]
    assert {look.identity_serial for look in seen} == {SERIAL}  # type: ignore[attr-defined]
    assert simulated.done() == ["power 1", "boot pxe", "power 0", "power 1"]


def test_inventory_is_honest_about_what_ipmi_cannot_show(simulated: Simulated) -> None:
    """Identity from the FRU; everything else is a gap, so that no check passes by silence."""

    async def look() -> object:
        return (await simulated.open().read(Kind.BMC_HARDWARE)).body

    body = run(look())
    assert isinstance(body, HardwareSeen)
    assert body.facts.identity.system_serial == SERIAL
    assert body.facts.identity.manufacturer == "Maker"
    assert {"gpus", "nvlinks", "drives", "firmware"} <= {gap.what for gap in body.facts.gaps}


def test_a_bmc_without_serial_over_lan_has_no_console(simulated: Simulated) -> None:
    """It is a report without consoles, which the gate calls red: not an unread one."""

    async def run() -> Observation:
        return await simulated.open().read(Kind.BMC_HEALTH)

    seen = asyncio.run(run())
    assert isinstance(seen.body, HealthSeen), seen.failure
    assert seen.body.consoles == ()
    assert "xids" in {gap.what for gap in seen.gaps}


def test_another_machine_is_never_touched(simulated: Simulated) -> None:
    """Another serial, or an action IPMI has no word for, changes nothing."""
    for bmc, action in ((simulated.open("SN-2"), SetPower(to="on")), (simulated.open(), SetBios(attributes={"a": "b"}))):
        with pytest.raises(MachineFault):
            run(bmc.act(action))
    assert simulated.done() == []


def test_wrong_password_is_told_and_hidden(simulated: Simulated) -> None:
    """A refused account is `unauthorized`; the password is in no text."""

    async def look() -> object:
        return await simulated.open(password="wrong-secret").read(Kind.BMC_POWER)

    observation = run(look())
    assert observation.failure_class == "unauthorized"  # type: ignore[attr-defined]
    assert "wrong-secret" not in repr(observation)


def test_nobody_there_ends_in_time(tmp_path: Path) -> None:
    """A BMC that does not answer is a timeout within the deadline."""
    if shutil.which("ipmitool") is None:
        pytest.skip("ipmitool is not installed (Debian package ipmitool)")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        nobody = Simulated(f"ipmi://127.0.0.1:{silent.getsockname()[1]}", tmp_path)

        async def look() -> object:
            return await nobody.open(timeout_s=2.0).read(Kind.BMC_POWER)

        began = time.monotonic()
        assert run(look()).failure_class == "timeout"  # type: ignore[attr-defined]
        assert time.monotonic() - began < 10
