"""Independent Redfish clients against the simulator: if they can work with it, it is a Redfish service."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from metalwright.simulator.site import SimulatedSite
from tests.fast.simulator.simulated_runs import USER
from tests.fast.simulator.simulated_sites import H100, SMALL, make_site
from tests.real.simulator.served import PASSWORD, run_program, while_served

pytestmark = pytest.mark.real


def test_sushy_inventories_powers_and_boots(tmp_path: Path) -> None:
    """OpenStack's client reads parts, sets a one-time network boot and switches the power, and sees each take effect."""
    sushy = pytest.importorskip("sushy", reason="sushy is not installed")

    def use(url: str) -> None:
        connection = sushy.Sushy(url, username=USER, password=PASSWORD, verify=False)
        system = next(each for each in connection.get_system_collection().get_members() if each.identity == "System_0")
        assert system.serial_number == "SN000001"
        assert len(system.processors.get_members()) == H100.cpus
        drives = system.storage.get_members()[0].drives
        assert len(drives) == H100.nvme
        assert len({drive.serial_number for drive in drives}) == H100.nvme
        assert set(system.ethernet_interfaces.summary) == {"52:54:00:00:00:00"}
        assert len(connection.get_update_service().firmware_inventory.get_members()) > 20
        system.set_system_boot_options(target=sushy.BOOT_SOURCE_TARGET_UEFI_HTTP, enabled=sushy.BOOT_SOURCE_ENABLED_ONCE)
        system.refresh(force=True)
        assert system.boot["target"] is sushy.BOOT_SOURCE_TARGET_UEFI_HTTP
        for reset, state in ((sushy.RESET_TYPE_ON, sushy.PowerState.ON), (sushy.RESET_TYPE_FORCE_OFF, sushy.PowerState.OFF)):
            system.reset_system(reset)
            for _ in range(200):
                system.refresh(force=True)
                if system.power_state is state:
                    break
            assert system.power_state is state

    async def work(site: SimulatedSite, url: str) -> None:
        await asyncio.to_thread(use, url)

    with without_ca_bundles():
        while_served(make_site(scheme="https"), tmp_path / "state", work)


def test_dmtf_client_walks_the_tree(tmp_path: Path) -> None:
    """DMTF's library logs in with a session, reads every resource once, and logs out."""
    redfish = pytest.importorskip("redfish", reason="the DMTF redfish client is not installed")

    def use(url: str) -> int:
        client = redfish.redfish_client(base_url=url, username=USER, password=PASSWORD, default_prefix="/redfish/v1")
        client.login(auth="session")
        seen, waiting = set[str](), ["/redfish/v1/"]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            reply = client.get(path)
            assert reply.status == 200, path
            waiting += ids_in(reply.dict)
        client.logout()
        return len(seen)

    async def work(site: SimulatedSite, url: str) -> None:
        assert await asyncio.to_thread(use, url) > 150
        assert not site.redfish.state(site.world.names()[0]).sessions

    with without_ca_bundles():
        while_served(make_site(profile=SMALL, scheme="https"), tmp_path / "state", work)


def ids_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value[key].split("#")[0] for key in ("@odata.id", "Members@odata.nextLink") if isinstance(value.get(key), str)]
        return own + [found for each in value.values() for found in ids_in(each)]
    return [found for each in value for found in ids_in(each)] if isinstance(value, list) else []


def test_dmtf_inventory_tool(tmp_path: Path) -> None:
    """rf_sys_inventory, which dies on several real BMCs, lists this server."""
    pytest.importorskip("redfish_utilities", reason="redfish-utilities is not installed")

    async def work(site: SimulatedSite, url: str) -> None:
        code, said = await run_program("rf_sys_inventory.py", "-r", url, "-u", USER, "-p", PASSWORD, timeout_s=60, cwd=tmp_path)
        assert code == 0, said[-2000:]
        assert "H100" in said

    while_served(make_site(profile=SMALL), tmp_path / "state", work)


class without_ca_bundles:
    """`requests` lets these variables override "do not verify"."""

    def __enter__(self) -> None:
        self._taken = {name: os.environ.pop(name) for name in list(os.environ) if "CA_BUNDLE" in name}

    def __exit__(self, *_: object) -> None:
        os.environ.update(self._taken)
