"""Checks on a recorded real machine: what a healthy DGX H100 shows over Redfish is not held against it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest

from metalwright.codec.library import profiles
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


def _case(tree: Mapping[str, Any]) -> NodeCase:
    """The healthy case with the BMC's look of a recorded tree in place of the made-up one; the profile is the library's."""

    def account(_: NodeSpec) -> tuple[Secret, Secret]:
        return Secret("operator"), Secret("correct horse")

    async def read() -> HardwareSeen:
        async with TreeBmc(tree, account=("operator", "correct horse")) as bmc:
            driver = RedfishFactory(account, MemoryPins(), StoppedClock()).open(replace(NODE, bmc=bmc.url, serial=SERIAL, uuid=None))
            try:
                seen = (await driver.read(Kind.BMC_HARDWARE)).body
            finally:
                await driver.close()
        assert isinstance(seen, HardwareSeen)
        return seen

    case = healthy(node=replace(NODE, serial=SERIAL, uuid=None), profile=profiles()["hgx-h100-8"])
    key = (Kind.BMC_HARDWARE, Witness.OUT_OF_BAND)
    return replace(case, observations={**case.observations, key: look(*key, asyncio.run(read()), 60)})


@pytest.fixture(scope="module")
def dgx() -> NodeCase:
    """As its BMC was recorded."""
    return _case(recorded("nvidia_viking"))


def _findings(case: NodeCase) -> dict[str, Finding]:
    return {finding.check: finding for finding in judge_node(case, Gate.INVENTORY).findings}


def test_a_real_dgx_h100_passes_what_its_bmc_can_show(dgx: NodeCase) -> None:
    """8 GPUs with serials and memory, 4 NVSwitches, 144 NVLinks up with both ends agreeing, PCIe 5 x16, 2 CPUs, 2 TiB."""
    findings = _findings(dgx)
    for check in ("gpus", "gpu-pcie", "nvswitches", "nvlinks", "nvlink-matrix", "cpus", "memory"):
        assert findings[f"inventory.{check}"].result is Result.PASS, findings[f"inventory.{check}"]


def test_the_same_machine_with_a_bad_link_of_each_kind_is_red_before_it_is_deployed() -> None:
    """In the recorded tree one NVLink down, one led to another switch and one GPU trained at generation 3: each named."""
    board = "/redfish/v1/Systems/HGX_Baseboard_0/Processors"
    tree: dict[str, Any] = {path: orjson.loads(body) for path, body in recorded("nvidia_viking").items()}
    tree[f"{board}/GPU_SXM_3/Ports/NVLink_4"]["LinkStatus"] = "LinkDown"
    down_to = tree[f"{board}/GPU_SXM_3/Ports/NVLink_4"]["Links"]["ConnectedSwitchPorts"][0]["@odata.id"]
    moved = tree[f"{board}/GPU_SXM_6/Ports/NVLink_0"]["Links"]["ConnectedSwitchPorts"][0]
    was = moved["@odata.id"].split("/")[-3]
    moved["@odata.id"] = moved["@odata.id"].replace(was, "NVSwitch_0" if was != "NVSwitch_0" else "NVSwitch_3")
    tree[f"{board}/GPU_SXM_5"]["SystemInterface"]["PCIe"]["PCIeType"] = "Gen3"
    case = _case(tree)
    installed = {key: seen for key, seen in case.observations.items() if key[1] is not Witness.RUNNING_SYSTEM}
    findings = _findings(replace(case, observations=installed))
    links, matrix, pcie = (findings[f"inventory.{check}"] for check in ("nvlinks", "nvlink-matrix", "gpu-pcie"))
    assert {links.result, matrix.result, pcie.result} == {Result.FAIL}
    switch, number = down_to.split("/")[-3], down_to.rpartition("_")[2]
    assert f"GPU_SXM_3: NVLink 4 to {switch}:{number} is down" in links.seen
    assert "GPU_SXM_6: NVLink 0 to" in links.seen
    assert "the far end names another port" in links.seen
    assert f"reach {was}, " in matrix.seen
    assert "GPU_SXM_6" in matrix.seen
    assert pcie.subject == "node:atlas01/gpu:5"
    assert pcie.seen == "GPU_SXM_5: trained at generation 3 x16"


def test_its_profile_as_an_h200_is_red(dgx: NodeCase) -> None:
    """The same machine against another profile names model, expected and seen."""
    finding = _findings(replace(dgx, profile=replace(dgx.profile, gpu_model="NVIDIA H200", gpu_memory_mib=143771)))["inventory.gpus"]
    assert finding.result is Result.FAIL
    assert "8 of 8 at fault" in finding.seen
    assert "H100 80GB HBM3" in finding.seen
