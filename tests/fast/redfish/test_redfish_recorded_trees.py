"""Four recorded trees of real machines are inventoried completely, over real HTTP."""

import asyncio
from collections import Counter

import pytest
from tree_bmc import TreeBmc, recorded

from conftest import ACCOUNT, factory, node
from metalwright.model.hardware import BootTarget, HardwareFacts, PcieLink, PowerState
from metalwright.model.observation import HardwareSeen, Kind, Observation, PowerSeen


def look(name: str, kind: Kind, serial: str = "") -> tuple[Observation, TreeBmc]:
    async def run() -> tuple[Observation, TreeBmc]:
        async with TreeBmc(recorded(name), account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, serial))
            try:
                return await driver.read(kind), bmc
            finally:
                await driver.close()

    return asyncio.run(run())


def facts_of(name: str) -> HardwareFacts:
    observation, bmc = look(name, Kind.BMC_HARDWARE)
    assert observation.failure == ""
    assert isinstance(observation.body, HardwareSeen)
    assert bmc.most_open <= 2
    assert not bmc.sessions
    return observation.body.facts


def test_dgx_h100_is_whole() -> None:
    """A DGX H100 shows 8 GPUs, 4 NVSwitches and 144 links of which each end names the other."""
    facts = facts_of("nvidia_viking")
    assert facts.identity.system_serial == "1662923610124"
    assert facts.identity.model == "DGXH100"
    assert (len(facts.cpus), len(facts.dimms), facts.memory_mib) == (2, 32, 2 * 1024 * 1024)
    assert [gpu.index for gpu in facts.gpus] == list(range(1, 9))
    assert facts.gpus[0].serial == "1652923003067"
    assert facts.gpus[7].serial == "1652923001497"
    assert {gpu.model for gpu in facts.gpus} == {"H100 80GB HBM3"}
    assert {gpu.memory_mib for gpu in facts.gpus} == {81559}
    assert {gpu.pcie for gpu in facts.gpus} == {PcieLink(generation=5, width=16, max_generation=5, max_width=16)}
    assert [switch.name for switch in facts.nvswitches] == [f"NVSwitch_{n}" for n in range(4)]
    assert len(facts.nvlinks) == 144
    assert Counter(link.gpu for link in facts.nvlinks) == {gpu: 18 for gpu in range(1, 9)}
    assert {(link.state, link.gbps, link.width, link.peer_agrees) for link in facts.nvlinks} == {("up", 212.496, 2, True)}
    assert len({link.peer for link in facts.nvlinks}) == 144
    assert facts.nvlinks[0].peer == "NVSwitch_1:12"
    assert len(facts.nics) == 12
    assert sum(1 for nic in facts.nics if nic.rdma) == 9
    assert [drive.model for drive in facts.drives].count("KCM6DRUL3T84") == 8
    assert len(facts.drives) == 10, "virtual media are no drives"
    assert {psu.serial for psu in facts.psus} >= {"DTHTCT23070SP", "DTHTCT23070TQ"}
    assert len(facts.psus) == 6
    assert len(facts.firmware) == 66
    assert {firmware.component: firmware.version for firmware in facts.firmware}["HGX_FW_GPU_SXM_1"] == "96.00.89.00.01"
    assert (facts.bios_version, facts.tpm) == ("1.1.3", "2.0")
    assert facts.warnings > 0, "its storage collection has no Members"
    assert "nvswitches/0/serial" in {gap.what for gap in facts.gaps}


def test_gb200_tray_is_whole() -> None:
    """A GB200 tray takes its serial from its shelf, counts each Grace CPU once, and marks what its GPUs do not show."""
    facts = facts_of("nvidia_gb200")
    assert facts.identity.system_serial == "1333024020524"
    assert [cpu.serial for cpu in facts.cpus] == ["0x00000001780CC1C72400000019FF0080", "0x00000001780CC10618000000060080C0"]
    assert {(cpu.model, cpu.cores) for cpu in facts.cpus} == {("Grace A02", 72)}
    assert [gpu.name for gpu in facts.gpus] == ["GPU_0", "GPU_1", "GPU_2", "GPU_3"]
    assert len(facts.drives) == 9, "each drive is listed by its controller and by its backplane"
    assert {drive.serial for drive in facts.drives} >= {"S666NN0W314049", "S6RMNG0X506950"}
    assert len(facts.nics) == 6
    assert {nic.serial for nic in facts.nics} >= {"MT2425XZ0LRP", "MT2425XZ0LRM"}
    assert len(facts.firmware) == 30
    gaps = {gap.what for gap in facts.gaps}
    assert {"gpus/0/serial", "gpus/3/pcie", "nvlinks/0"} <= gaps


def test_idrac_is_whole() -> None:
    """On Dell the service tag is the serial, old firmware versions are not listed, padded serials are stripped."""
    facts = facts_of("dell")
    assert facts.identity.system_serial == "F54P1G3"
    assert facts.identity.board_serial == "CNIVC0014M0388"
    assert [(gpu.model, gpu.serial) for gpu in facts.gpus] == [("NVIDIA H100 PCIe", "1654422007043")]
    assert (len(facts.cpus), len(facts.dimms), len(facts.drives), len(facts.psus)) == (2, 16, 3, 2)
    assert {nic.serial for nic in facts.nics} >= {"MT2242XZ00QA", "VNFCVBA14I00AD"}
    assert [nic.rdma for nic in facts.nics if nic.name == "InfiniBand.Slot.7"] == [True]
    versions = {firmware.component: firmware.version for firmware in facts.firmware}
    assert versions["BIOS.Setup.1-1"] == "1.8.2"
    assert versions["iDRAC.Embedded.1-1"] == "6.00.30.00"


def test_supermicro_is_whole() -> None:
    """Where GPUs are PCIe devices only, they are still GPUs; power supplies come from the old Power resource."""
    facts = facts_of("supermicro")
    assert facts.identity.system_serial == "S889914X3710910"
    assert facts.identity.board_serial == "OM234S005959"
    assert [gpu.index for gpu in facts.gpus] == list(range(1, 9))
    assert (facts.gpus[2].serial, facts.gpus[2].model) == ("1652323020605", "H100 80GB HBM3")
    assert {gpu.pcie for gpu in facts.gpus} == {PcieLink(generation=5, width=16, max_generation=5, max_width=16)}
    assert (len(facts.cpus), len(facts.dimms), len(facts.drives), len(facts.psus), len(facts.nics)) == (2, 32, 8, 8, 10)
    assert "94:6d:ae:91:6a:9a" in {mac for nic in facts.nics for mac in nic.macs}
    assert "nvlinks/1" in {gap.what for gap in facts.gaps}


@pytest.mark.parametrize(
    ("name", "serial"),
    [("nvidia_viking", "1662923610124"), ("nvidia_gb200", "1333024020524"), ("dell", "F54P1G3"), ("supermicro", "S889914X3710910")],
)
def test_power_of_every_machine(name: str, serial: str) -> None:
    """Power, boot override and serial are read from the host system, also where the BMC lists a baseboard beside it."""
    observation, _ = look(name, Kind.BMC_POWER, serial)
    body = observation.body
    assert isinstance(body, PowerSeen)
    assert (body.power, body.boot_target, body.boot_once, body.identity_serial) == (PowerState.ON, BootTarget.NONE, False, serial)
