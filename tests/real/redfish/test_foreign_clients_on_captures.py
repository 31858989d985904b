"""Independent clients on recorded machines that we serve: to them it is the machine, and it can be switched and booted."""

import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from metalwright.model.secret import Secret
from metalwright.simulator.recorded.serve import open_recorded
from tests.fast.redfish.listening import listening
from tests.fast.redfish.tree_bmc import captures
from tests.fast.simulator.simulated_sites import free_port

pytestmark = pytest.mark.real
USER, PASSWORD = "admin", "correct horse"


@pytest.mark.parametrize(("name", "identity", "serial"), [("supermicro", "1", "S889914X3710910"), ("dell", "System.Embedded.1", "F54P1G3")])
def test_sushy_powers_and_boots_a_recorded_machine(name: str, identity: str, serial: str, tmp_path: Path) -> None:
    """OpenStack's client reads the serial, sets a one-time boot, switches off and on, and sees each take effect."""
    sushy = pytest.importorskip("sushy", reason="sushy is not installed")
    url = f"http://127.0.0.1:{free_port()}"
    source = captures() / "redfish" / f"{name}.tar.xz"
    with listening(open_recorded(source, url, tmp_path, account=(USER, Secret(PASSWORD)))):
        connection = sushy.Sushy(url, auth=sushy.auth.BasicAuth(USER, PASSWORD))  # its sessions are closed by chance, at some later time
        system = next(each for each in connection.get_system_collection().get_members() if each.identity == identity)
        assert serial in (system.serial_number, system.sku)
        system.set_system_boot_options(target=sushy.BOOT_SOURCE_TARGET_PXE, enabled=sushy.BOOT_SOURCE_ENABLED_ONCE)
        system.refresh(force=True)
        assert system.boot["target"] is sushy.BOOT_SOURCE_TARGET_PXE
        for reset, state in ((sushy.RESET_TYPE_FORCE_OFF, sushy.PowerState.OFF), (sushy.RESET_TYPE_ON, sushy.PowerState.ON)):
            system.reset_system(reset)
            system.refresh(force=True)
            assert system.power_state is state
        assert system.boot["target"] is not sushy.BOOT_SOURCE_TARGET_PXE


def test_dmtf_inventory_of_a_recorded_machine(tmp_path: Path) -> None:
    """DMTF's `rf_sys_inventory` logs in and lists the eight GPUs of the Supermicro host. (On the DGX it ends at a drive without `Id`.)"""
    program = which("rf_sys_inventory.py", path=str(Path(sys.executable).parent)) or which("rf_sys_inventory.py")
    if program is None:
        pytest.skip("rf_sys_inventory.py (redfish_utilities) is not installed")
    url = f"http://127.0.0.1:{free_port()}"
    with listening(open_recorded(captures() / "redfish" / "supermicro.tar.xz", url, tmp_path, account=(USER, Secret(PASSWORD)))):
        command = [sys.executable, program, "-r", url, "-u", USER, "-p", PASSWORD]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert all(f"GPU{number}" in done.stdout for number in range(1, 9)), done.stdout[-2000:]
