"""Checks on a recorded real machine: what a healthy DGX H100 shows over Redfish is not held against it."""

import asyncio
from dataclasses import replace

import pytest

from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.gates.judge import judge_node
from metalwright.model.case import NodeCase
from metalwright.model.judgement import Finding, Gate, Result
from metalwright.model.observation import HardwareSeen, Kind, Witness
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec
from tests.fast.gates.cases import NODE, healthy, look
from tests.fast.redfish.tree_bmc import TreeBmc, recorded

SERIAL = "1662923610124"


class StoppedClock:
    """Time does not matter here: the look is stamped by the test."""

    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def dgx() -> NodeCase:
    """The healthy case with the BMC's look of a recorded DGX H100 in place of the made-up one."""

    def account(_: NodeSpec) -> tuple[Secret, Secret]:
        return Secret("operator"), Secret("correct horse")

    async def read() -> HardwareSeen:
        async with TreeBmc(recorded("nvidia_viking"), account=("operator", "correct horse")) as bmc:
            driver = RedfishFactory(account, MemoryPins(), StoppedClock()).open(replace(NODE, bmc=bmc.url, serial=SERIAL, uuid=None))
            try:
                seen = (await driver.read(Kind.BMC_HARDWARE)).body
            finally:
                await driver.close()
        assert isinstance(seen, HardwareSeen)
        return seen

    case = healthy(node=replace(NODE, serial=SERIAL, uuid=None))
    key = (Kind.BMC_HARDWARE, Witness.OUT_OF_BAND)
    return replace(case, observations={**case.observations, key: look(*key, asyncio.run(read()), 60)})


def _findings(case: NodeCase) -> dict[str, Finding]:
    return {finding.check: finding for finding in judge_node(case, Gate.INVENTORY).findings}


def test_a_real_dgx_h100_passes_what_its_bmc_can_show(dgx: NodeCase) -> None:
    """8 GPUs with serials and memory, 4 NVSwitches, 144 NVLinks up with both ends agreeing, PCIe 5 x16, 2 CPUs, 2 TiB."""
    findings = _findings(dgx)
    for check in ("gpus", "gpu-pcie", "nvswitches", "nvlinks", "cpus", "memory"):
        assert findings[f"inventory.{check}"].result is Result.PASS, findings[f"inventory.{check}"]


def test_its_profile_as_an_h200_is_red(dgx: NodeCase) -> None:
    """The same machine against another profile names model, expected and seen."""
    finding = _findings(replace(dgx, profile=replace(dgx.profile, gpu_model="NVIDIA H200", gpu_memory_mib=143771)))["inventory.gpus"]
    assert finding.result is Result.FAIL
    assert "8 of 8 at fault" in finding.seen
    assert "H100 80GB HBM3" in finding.seen
