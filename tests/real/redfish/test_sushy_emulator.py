"""Our driver against an independent Redfish server: the emulator of OpenStack's sushy-tools, with its fake driver."""

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.ids import NodeName, RackName
from metalwright.model.observation import HardwareSeen, Kind, PowerSeen
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec
from metalwright.ports import BmcAction, SetBoot, SetPower

pytestmark = pytest.mark.real
UUID = "da69abcc-dae0-4913-9a7b-d344043097c0"
SERIAL = "437XR1138R2"
"""The emulator shows no serial on its systems; it is on the chassis that holds them."""
CONFIG = f"""
SUSHY_EMULATOR_FAKE_SYSTEMS = [
    {{'uuid': '{UUID}', 'name': 'node1', 'power_state': 'Off', 'nics': [{{'mac': '00:5c:52:31:3a:9c', 'ip': '172.22.0.100'}}]}}
]
"""


class WallClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a running emulator."""
    program = shutil.which("sushy-emulator", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("sushy-emulator is not installed (pip install sushy-tools)")
    folder = tmp_path_factory.mktemp("sushy")
    (folder / "emulator.conf").write_text(CONFIG)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [program, "--fake", "--config", str(folder / "emulator.conf"), "--interface", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None, "the emulator ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the emulator does not listen")


def perform(url: str, *actions: BmcAction) -> tuple[PowerSeen, HardwareSeen]:
    node = NodeSpec(name=NodeName("n1"), rack=RackName("r1"), unit=1, profile="c", serial=SERIAL, bmc=url, boot_mac="00:5c:52:31:3a:9c")
    factory = RedfishFactory(lambda _: (Secret("admin"), Secret("password")), MemoryPins(), WallClock())

    async def run() -> tuple[PowerSeen, HardwareSeen]:
        driver = factory.open(node)
        try:
            for action in actions:
                await driver.act(action)
            power, hardware = await driver.read(Kind.BMC_POWER), await driver.read(Kind.BMC_HARDWARE)
        finally:
            await driver.close()
        assert (power.failure, hardware.failure) == ("", "")
        assert isinstance(power.body, PowerSeen)
        assert isinstance(hardware.body, HardwareSeen)
        return power.body, hardware.body

    return asyncio.run(run())


def wait_for_power(url: str, wanted: PowerState) -> None:
    deadline = time.monotonic() + 60
    while (seen := perform(url)[0].power) is not wanted:
        assert time.monotonic() < deadline, f"power is {seen}, not {wanted}"
        time.sleep(0.5)


def test_inventory(emulator: str) -> None:
    """What the emulator shows of its fake system is read: UUID, maker, the NIC's MAC; what it lacks is a gap."""
    facts = perform(emulator)[1].facts
    assert facts.identity.uuid == UUID
    assert facts.identity.manufacturer == "Sushy Emulator"
    assert [nic.macs for nic in facts.nics] == [("00:5c:52:31:3a:9c",)]
    assert facts.identity.system_serial == SERIAL
    assert {"tpm", "nvswitches"} <= {gap.what for gap in facts.gaps}


def test_power_cycle(emulator: str) -> None:
    """On, on again, reset, off: each asked once and seen by a fresh read."""
    perform(emulator, SetPower(to="on"), SetPower(to="on"))
    wait_for_power(emulator, PowerState.ON)
    perform(emulator, SetPower(to="reset"))
    wait_for_power(emulator, PowerState.ON)
    perform(emulator, SetPower(to="off"))
    wait_for_power(emulator, PowerState.OFF)


@pytest.mark.parametrize("target", [BootTarget.NETWORK, BootTarget.DISK])
@pytest.mark.parametrize("path", ["uefi-http", "uefi-pxe"])
def test_boot_override(emulator: str, target: BootTarget, path: str) -> None:
    """Where the next start comes from is set and read back."""
    assert perform(emulator, SetBoot(target=target, once=False, path=path))[0].boot_target is target
