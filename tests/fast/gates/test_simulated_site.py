"""The scaffolded simulated site, through the real spec reader, simulator and Redfish driver: its plan and its BMCs are in order."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.scaffold_kinds import KINDS
from metalwright.codec.site_folder import read_site
from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.gates.judge import judge_node, judge_site
from metalwright.model.agent_messages import BootArguments
from metalwright.model.case import NodeCase, SiteCase
from metalwright.model.hardware import PowerState
from metalwright.model.ids import Digest
from metalwright.model.judgement import Colour, Finding, Gate, Result
from metalwright.model.observation import HardwareSeen, Kind, Observation, PowerSeen, Witness
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec, StoredSpec
from metalwright.ports import BootedMachine
from metalwright.simulator.machine import Timing
from metalwright.simulator.site import SimulatedSite, SiteOptions, open_site
from tests.fast.gates.cases import BUILT, NOW, agent_facts, seeing
from tests.fast.gates.test_captures import StoppedClock

OOB = Witness.OUT_OF_BAND
QUICK = Timing(power_s=0.01, firmware_s=0.01, kernel_s=0.01, shutdown_s=0.01, script_retry_s=0.01, script_tries=5)


class Idle:
    """A program for machines that are only looked at."""

    async def run(self, machine: BootedMachine, arguments: BootArguments) -> None:
        await asyncio.Event().wait()


@pytest.fixture
def site(tmp_path: Path) -> StoredSpec:
    """The scaffold `simulated`, with its BMCs on a free port."""
    write_scaffold(tmp_path / "sim", "simulated")
    stored = read_site(tmp_path / "sim")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    nodes = tuple(replace(node, bmc=node.bmc.replace(":9443", f":{port}")) for node in stored.spec.nodes)
    return replace(stored, spec=replace(stored.spec, nodes=nodes))


@contextlib.asynccontextmanager
async def served(site: StoredSpec, folder: Path) -> AsyncIterator[SimulatedSite]:
    options = SiteOptions(user="admin", password=Secret("correct horse"), timing=QUICK)
    async with open_site(site, folder, Idle(), options) as running:
        yield running


async def looks(node: NodeSpec) -> dict[tuple[Kind, Witness], Observation]:
    """Both BMC looks at one node, stamped NOW."""

    def account(_: NodeSpec) -> tuple[Secret, Secret]:
        return Secret("admin"), Secret("correct horse")

    driver = RedfishFactory(account, MemoryPins(), StoppedClock()).open(node)
    try:
        seen = [await driver.read(kind) for kind in (Kind.BMC_POWER, Kind.BMC_HARDWARE)]
    finally:
        await driver.close()
    return {(look.kind, look.witness): replace(look, seen_at=NOW) for look in seen}


def node_case(site: StoredSpec, **more: object) -> NodeCase:
    node = site.spec.nodes[0]
    parts = tuple(line for line in site.spec.purchase if node.serial in (line.serial, line.node_serial))
    fields = {"spec_digest": Digest(site.digest), "wish_digest": Digest(site.digest), "spec": site.spec, "image": BUILT, "parts": parts}
    return NodeCase(now=NOW, node=node, profile=site.profiles[node.profile], **fields, **more)  # type: ignore[arg-type]


def findings(case: NodeCase, gate: Gate = Gate.INVENTORY) -> dict[str, Finding]:
    return {finding.check: finding for finding in judge_node(case, gate).findings}


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_of_every_scaffold_is_green(kind: str, tmp_path: Path) -> None:
    """What `init` writes passes the plan gate as soon as its image is built, and not before."""
    write_scaffold(tmp_path / "made", kind)
    site = read_site(tmp_path / "made")
    image = site.spec.system.image if site.spec.system else ""
    case = SiteCase(now=NOW, spec_digest=Digest(site.digest), spec=site.spec, profiles=site.profiles, images={image: BUILT})
    verdict = judge_site(case)
    assert verdict.colour is Colour.GREEN, [finding for finding in verdict.findings if finding.result is not Result.PASS]
    assert judge_site(replace(case, images={})).colour is Colour.RED


async def _powered(running: SimulatedSite, node: NodeSpec) -> None:
    machine = running.machines[node.name]
    await machine.set_power("on")
    async with asyncio.timeout(10):
        while await machine.power() is not PowerState.ON:
            await asyncio.sleep(0.01)


def test_a_simulated_bmc_passes_every_check_that_it_alone_can_answer(site: StoredSpec, tmp_path: Path) -> None:
    """GPUs, PCIe, NVSwitches and NVLinks of the simulated BMC are in order; what needs the agent is undetermined."""

    async def run() -> NodeCase:
        async with served(site, tmp_path / "state") as running:
            await _powered(running, site.spec.nodes[0])
            return node_case(site, observations=await looks(site.spec.nodes[0]))

    case = asyncio.run(run())
    found = findings(case)
    for check in ("bmc-answers", "gpu-pcie", "nvswitches", "nvlinks", "memory"):
        assert found[f"inventory.{check}"].result is Result.PASS, found[f"inventory.{check}"]
    assert found["inventory.identity"].result is Result.UNDETERMINED
    body = case.observations[Kind.BMC_HARDWARE, OOB].body
    assert isinstance(body, HardwareSeen)
    in_band = HardwareSeen(facts=replace(body.facts, gpus=(), pci=agent_facts().pci))
    with_agent = findings(seeing(case, Kind.AGENT_HARDWARE, Witness.RAM_DISK, in_band, 0))
    for check in ("identity", "witnesses-agree", "gpus", "cpus", "drives", "purchase"):
        assert with_agent[f"inventory.{check}"].result is Result.PASS, with_agent[f"inventory.{check}"]


def test_a_simulated_machine_that_is_off_is_not_red(site: StoredSpec, tmp_path: Path) -> None:
    """Bare machines are off: nothing about their parts is held against them before they run."""

    async def run() -> NodeCase:
        async with served(site, tmp_path / "state"):
            return node_case(site, observations=await looks(site.spec.nodes[0]))

    case = asyncio.run(run())
    power = case.observations[Kind.BMC_POWER, OOB].body
    assert isinstance(power, PowerSeen)
    assert power.power is PowerState.OFF
    assert judge_node(case, Gate.INVENTORY).colour is Colour.UNDETERMINED
