"""Every check by table: what makes it fail, and that nothing missing, stale, failed or unread ever lets it pass."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from metalwright.gates.check import Check, Sight
from metalwright.gates.judge import judge_node
from metalwright.gates.registry import CHECKS
from metalwright.model.case import NodeCase
from metalwright.model.hardware import Drive, Firmware, PcieLink, PowerState
from metalwright.model.judgement import Colour, Finding, Result
from metalwright.model.observation import BootClaimsSeen, HardwareSeen, Kind, Witness
from metalwright.model.spec import DiskLayout, FirmwareLine, PurchaseLine, SystemSpec
from tests.fast.gates.cases import (
    BUILT,
    IMAGE,
    INSTALLED,
    MEASURED,
    NODE,
    NOW,
    POWER_ON,
    PROFILE,
    RAM,
    RAM_BOOT,
    SPEC,
    WRITTEN,
    aged,
    agent_facts,
    bmc_facts,
    gapped,
    healthy,
    look,
    seeing,
    unreadable,
    with_agent,
    with_bmc,
    without,
)

OOB, IN_RAM, RUNNING, ENDPOINT = Witness.OUT_OF_BAND, Witness.RAM_DISK, Witness.RUNNING_SYSTEM, Witness.ENDPOINT
Change = Callable[[NodeCase], NodeCase]


def _bmc_gpu(position: int, **fields: object) -> Change:
    gpus = list(bmc_facts().gpus)
    gpus[position] = replace(gpus[position], **fields)  # type: ignore[arg-type]
    return lambda case: with_bmc(case, gpus=tuple(gpus))


def _link(position: int, **fields: object) -> Change:
    links = list(bmc_facts().nvlinks)
    links[position] = replace(links[position], **fields)  # type: ignore[arg-type]
    return lambda case: with_bmc(case, nvlinks=tuple(links))


def _agent_nic(**fields: object) -> Change:
    nics = list(agent_facts().nics)
    nics[2] = replace(nics[2], **fields)  # type: ignore[arg-type]
    return lambda case: with_agent(case, nics=tuple(nics))


def _identity(facts_of: str, **fields: object) -> Change:
    facts = bmc_facts() if facts_of == "bmc" else agent_facts()
    changed = replace(facts.identity, **fields)  # type: ignore[arg-type]
    return lambda case: (with_bmc if facts_of == "bmc" else with_agent)(case, identity=changed)


def _bought(*lines: PurchaseLine) -> Change:
    return lambda case: replace(case, parts=(*case.parts, *lines))


def _never_in_ram(case: NodeCase) -> NodeCase:
    return replace(case, observations={key: seen for key, seen in case.observations.items() if key != (Kind.AGENT_BOOT, IN_RAM)})


def _baseline(profile: str, component: str, version: str) -> Change:
    line = FirmwareLine(profile=profile, component=component, version=version)
    return lambda case: replace(case, spec=replace(SPEC, firmware=(line,)))


def _system(disks: str) -> Change:
    return lambda case: replace(case, spec=replace(SPEC, system=SystemSpec(image="x", disks=DiskLayout(system=disks))))


def _written(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.DISK_IMAGE, IN_RAM, replace(WRITTEN, **fields))  # type: ignore[arg-type]


def _measured(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.SYSTEM_IMAGE, RUNNING, replace(MEASURED, **fields))  # type: ignore[arg-type]


def _installed(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.AGENT_BOOT, RUNNING, replace(INSTALLED, **fields))  # type: ignore[arg-type]


def _first_drive(**fields: object) -> Change:
    drives = agent_facts().drives
    return lambda case: with_agent(case, drives=(replace(drives[0], **fields), *drives[1:]))  # type: ignore[arg-type]


def _power(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.BMC_POWER, OOB, replace(POWER_ON, **fields))  # type: ignore[arg-type]


FAILS: dict[str, list[tuple[str, Change, str, str]]] = {
    # check: [(what is wrong, change, part of `seen`, subject's part)]
    "inventory.bmc-answers": [
        ("two machines", _power(identity_serial="OTHER77"), "OTHER77", ""),
    ],
    "inventory.identity": [
        ("wrong serial by the BMC", _identity("bmc", system_serial="OTHER77"), "the BMC: OTHER77", ""),
        ("wrong serial in-band", _identity("agent", system_serial="OTHER77"), "the agent: OTHER77", ""),
        ("wrong UUID in-band", _identity("agent", uuid="00000000-0000-0000-0000-000000000abc"), "by the agent", ""),
        ("placeholder in the spec", lambda c: replace(c, node=replace(NODE, serial="To be filled by O.E.M.")), "placeholder", ""),
        (
            "wrong serial before the first boot",
            lambda c: without(
                seeing(c, Kind.BMC_POWER, OOB, replace(POWER_ON, identity_serial="OTHER77")),
                Kind.AGENT_HARDWARE,
                Kind.AGENT_BOOT,
                Kind.BMC_HARDWARE,
            ),
            "OTHER77",
            "",
        ),
    ],
    "inventory.witnesses-agree": [
        ("a GPU off the bus", lambda c: with_agent(c, pci=agent_facts().pci[1:]), "8 by the BMC, 7 on the PCI bus", ""),
        ("a NIC lost in-band", lambda c: with_agent(c, nics=agent_facts().nics[1:]), "94:6d:ae:01:00:00", ""),
        ("another drive in-band", _first_drive(serial="STRANGER1"), "STRANGER1 by the agent", ""),
        ("memory", lambda c: with_agent(c, memory_mib=1_900_000), "1900000 MiB by the agent", ""),
        (
            "another GPU by the driver",
            lambda c: with_agent(c, gpus=(replace(bmc_facts().gpus[0], serial="STRANGER1"), *bmc_facts().gpus[1:])),
            "GPU0001 by the BMC",
            "",
        ),
    ],
    "inventory.purchase": [
        ("bought, not there", _bought(PurchaseLine(part="H100", serial="GPU9999", node_serial="x", kind="gpu", line=77)), "line 77", ""),
        ("swapped GPU", _bmc_gpu(0, serial="STRANGER1"), "gpu STRANGER1 is in the node and not on the list", ""),
    ],
    "inventory.cpus": [
        ("one by the BMC", lambda c: with_bmc(c, cpus=bmc_facts().cpus[1:]), "1 CPU by the BMC", ""),
        ("one in-band", lambda c: with_agent(c, cpus=agent_facts().cpus[1:]), "1 CPU by the agent", ""),
    ],
    "inventory.memory": [
        ("two DIMMs of 32 gone", lambda c: with_bmc(c, memory_mib=30 * 64 * 1024), "1966080 MiB", ""),
    ],
    "inventory.gpus": [
        ("seven GPUs", lambda c: with_bmc(c, gpus=(*bmc_facts().gpus[:4], *bmc_facts().gpus[5:])), "missing: GPU 5", ""),
        ("no GPU", lambda c: with_bmc(c, gpus=()), "0 GPUs: none", ""),
        ("another model", _bmc_gpu(2, model="NVIDIA H200"), "model NVIDIA H200", "gpu:3"),
        ("half its memory", _bmc_gpu(2, memory_mib=40960), "40960 MiB", "gpu:3"),
        ("one serial twice", _bmc_gpu(2, serial="GPU0001"), "is shown by 2 GPUs", ""),
    ],
    "inventory.gpu-pcie": [
        ("generation 4", _bmc_gpu(4, pcie=PcieLink(max_generation=4, max_width=16)), "at most generation 4 x16", "gpu:5"),
        ("width 8", _bmc_gpu(4, pcie=PcieLink(max_generation=5, max_width=8)), "x8", "gpu:5"),
    ],
    "inventory.nvswitches": [
        ("one gone", lambda c: with_bmc(c, nvswitches=bmc_facts().nvswitches[1:]), "3: NVSwitch_1", ""),
    ],
    "inventory.nvlinks": [
        ("one down", _link(18 * 4 + 11, state="down", gbps=None), "GPU_SXM_5: NVLink 11 to NVSwitch_3", "gpu:5"),
        ("one slow", _link(18 * 4 + 11, gbps=106.25), "runs at 106.25 Gbit/s", "gpu:5"),
        ("one training", _link(0, state="training"), "NVLink 0 to NVSwitch_0:18 is training", "gpu:1"),
        ("ends disagree", _link(0, peer_agrees=False), "the far end names another port", "gpu:1"),
        ("one not there", lambda c: with_bmc(c, nvlinks=bmc_facts().nvlinks[1:]), "17 of 18 NVLinks", "gpu:1"),
        ("all of two GPUs", lambda c: with_bmc(c, nvlinks=bmc_facts().nvlinks[36:]), "2 of 8 at fault", ""),
    ],
    "inventory.nics": [
        ("seven", lambda c: with_agent(c, nics=agent_facts().nics[1:]), "7: mlx5_1", ""),
        ("one slow", _agent_nic(rate_gbps=200.0), "mlx5_2 at 200 Gbit/s", "nic:mlx5_2"),
        ("one without RDMA", _agent_nic(rdma=False), "7:", ""),
    ],
    "inventory.drives": [
        ("seven", lambda c: with_agent(c, drives=agent_facts().drives[1:]), "7 NVMe drives of that size", ""),
        ("nine", lambda c: with_agent(c, drives=(*agent_facts().drives, Drive(name="nvme9n1", size_bytes=4 * 10**12))), "9 NVMe", ""),
    ],
    "inventory.boot-claims": [
        ("second claim", lambda c: seeing(c, Kind.BOOT_CLAIMS, ENDPOINT, BootClaimsSeen(claims=3, conflicts=1)), "a second time (1)", ""),
    ],
    "firmware.baseline": [
        ("old", lambda c: with_bmc(c, firmware=(Firmware(component="HGX_FW_BMC_0", version="HGX-21"),)), "HGX-21", "firmware:HGX_FW_BMC_0"),
        ("not in the inventory", lambda c: with_bmc(c, firmware=()), "not in the BMC's inventory", "firmware:HGX_FW_BMC_0"),
    ],
    "os.boot": [
        ("the RAM disk's boot id", _installed(boot_id=RAM_BOOT), RAM_BOOT, ""),
        ("stage ram", _installed(stage="ram"), "stage ram", ""),
    ],
    "os.image": [
        ("another was written", _written(image_digest="sha256:ff"), "sha256:ff", ""),
        ("a frame differs on disk", _written(mismatches=1), "written: 1 frames", ""),
        ("nothing read back", _written(frames_verified=0), "no frame was read", ""),
        ("none matches", _measured(image_digest=""), "no image that matches", ""),
        ("a frame differs", _measured(mismatches=3), "measured: 3 frames", ""),
        ("nothing measured", _measured(frames_measured=0), "measured: no frame", ""),
    ],
    "os.disk": [
        ("runs from a data disk", _measured(root_disk_serial="DATA0001"), "it runs from DATA0001", ""),
        ("wrote a data disk", _written(disk_serial="DATA0001"), "written was DATA0001", ""),
    ],
    "os.kernel": [
        ("another", _measured(kernel="5.10.0-1-amd64"), "kernel 5.10.0", ""),
    ],
    "os.identity": [
        ("wrong machine", _installed(system_serial="OTHER77"), "OTHER77 by the inst", ""),
        ("wrong BMC", _power(identity_serial="OTHER77"), "OTHER77 by the BMC", ""),
    ],
}

UNDETERMINED: dict[str, list[tuple[str, Change, str]]] = {
    # check: [(what is not known, change, part of `reason`)]
    "inventory.identity": [
        ("placeholder in-band", _identity("agent", system_serial="Default string"), "the agent"),
        ("no serial by the BMC", _identity("bmc", system_serial=None), "the BMC"),
    ],
    "inventory.purchase": [
        ("GPU without a serial", _bmc_gpu(0, serial=None), "GPU0001"),
        (
            "a line that does not say its kind",
            _bought(PurchaseLine(part="thing", serial="NOWHERE1", node_serial="x", line=78)),
            "thing NOWHERE1",
        ),
    ],
    "inventory.memory": [("no size", lambda c: with_bmc(c, memory_mib=None), "does not say")],
    "inventory.gpus": [
        ("no serial", _bmc_gpu(0, serial="N/A"), "GPU_SXM_1"),
        ("no model", _bmc_gpu(0, model=None), "GPU_SXM_1"),
        ("no memory", _bmc_gpu(0, memory_mib=None), "GPU_SXM_1"),
    ],
    "inventory.gpu-pcie": [
        ("no link", _bmc_gpu(0, pcie=None), "GPU_SXM_1"),
        ("a GPU is not there", lambda c: with_bmc(c, gpus=bmc_facts().gpus[1:]), "7 GPUs of 8"),
    ],
    "inventory.nvlinks": [
        ("unknown state", _link(0, state="unknown"), "GPU 1 NVLink 0"),
        ("no speed", _link(0, gbps=None), "GPU 1 NVLink 0"),
        ("far end not read", _link(0, peer_agrees=None), "GPU 1 NVLink 0"),
        ("a GPU is not there", lambda c: with_bmc(c, gpus=bmc_facts().gpus[1:]), "7 of 8"),
    ],
    "inventory.nics": [("RDMA not known", _agent_nic(rdma=None), "cannot be told")],
    "inventory.drives": [
        ("size not known", _first_drive(size_bytes=None), "size"),
    ],
    "firmware.baseline": [
        ("no version", lambda c: with_bmc(c, firmware=(Firmware(component="HGX_FW_BMC_0", version=None),)), "no version")
    ],
    "os.boot": [
        ("silent", _installed(last_contact_at=NOW - 301), "silent"),
        ("back in RAM", lambda c: seeing(c, Kind.AGENT_BOOT, IN_RAM, replace(RAM, claimed_at=NOW - 500)), "RAM disk"),
    ],
    "os.image": [("image not built", lambda c: replace(c, image=None, image_problem="not built"), "not built")],
    "os.disk": [
        ("no root serial", _measured(root_disk_serial=None), "does not say"),
        ("no such disk", _system("serial:NO1"), "NO1"),
        ("no system", lambda c: replace(c, spec=replace(SPEC, system=None)), "no system"),
    ],
    "os.identity": [
        ("no serial", _installed(system_serial=None), "installed system"),
    ],
}

NOT_APPLICABLE: dict[str, list[tuple[Change, str]]] = {
    "inventory.gpus": [(lambda c: replace(c, profile=replace(PROFILE, gpus=0)), "no GPUs")],
    "inventory.gpu-pcie": [(lambda c: replace(c, profile=replace(PROFILE, gpus=0)), "no GPUs")],
    "inventory.nvswitches": [(lambda c: replace(c, profile=replace(PROFILE, nvswitches=0)), "no NVSwitches")],
    "inventory.nvlinks": [(lambda c: replace(c, profile=replace(PROFILE, nvlinks_per_gpu=0)), "no NVLinks")],
    "inventory.purchase": [(lambda c: replace(c, spec=replace(SPEC, purchase=())), "no purchase list")],
    "firmware.baseline": [(_baseline("other", "x", "1"), "no firmware baseline")],
    "os.kernel": [(lambda c: replace(c, image=replace(BUILT, manifest=replace(BUILT.manifest, kernel=""))), "names no kernel")],
}

PASSES: dict[str, list[tuple[str, Change]]] = {
    "inventory.identity": [
        ("UUID in the other byte order", _identity("bmc", uuid="44454c4c-5100-1030-8052-b4c04f4d3231")),
        ("padded serial in small letters", _identity("agent", system_serial=" mw24h100001 ")),
        ("the machine is off", _power(power=PowerState.OFF)),
    ],
    "inventory.witnesses-agree": [
        (
            "a BMC that shows drives without serials",
            lambda c: with_bmc(c, drives=tuple(replace(d, serial=None) for d in bmc_facts().drives)),
        ),
        ("a NIC that only the agent sees", lambda c: with_bmc(c, nics=bmc_facts().nics[1:])),
    ],
    "inventory.gpu-pcie": [("idle at generation 1", _bmc_gpu(0, pcie=PcieLink(generation=1, width=8, max_generation=6, max_width=16)))],
    "inventory.memory": [("firmware took 2 %", lambda c: with_bmc(c, memory_mib=2_055_208))],
    "firmware.baseline": [("a pattern", _baseline("compute", "HGX_FW_*", "HGX-22.10-1"))],
    "os.boot": [("the RAM disk was never seen", _never_in_ram)],
}


def _finding(case: NodeCase, check: str) -> Finding:
    gate = next(each.gate for each in CHECKS if each.id == check)
    findings = [finding for finding in judge_node(case, gate).findings if finding.check == check]
    assert len(findings) == 1, findings
    return findings[0]


def _rows(table: Mapping[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(check, row) for check, rows in table.items() for row in rows]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_check_passes_on_a_healthy_node_and_has_a_failing_case(check: Check) -> None:
    """A check that nothing in this table can make fail is no check."""
    assert _finding(healthy(), check.id).result is Result.PASS
    assert FAILS.get(check.id), f"{check.id} has no failing case in this table"


@pytest.mark.parametrize(("check", "row"), _rows(FAILS), ids=lambda value: value if isinstance(value, str) else value[0])
def test_a_fault_is_red_and_names_part_expected_seen_and_what_to_do(check: str, row: tuple[str, Change, str, str]) -> None:
    """A failing finding says what was expected, what was seen, where the rule comes from and what to do."""
    _, change, seen, part = row
    finding = _finding(change(healthy()), check)
    assert finding.result is Result.FAIL, finding
    assert seen in finding.seen
    assert finding.subject == "node:atlas01" + (f"/{part}" if part else "")
    assert finding.expected
    assert finding.do
    assert finding.source


@pytest.mark.parametrize(("check", "row"), _rows(UNDETERMINED), ids=lambda value: value if isinstance(value, str) else value[0])
def test_what_is_not_known_is_undetermined_with_its_reason(check: str, row: tuple[str, Change, str]) -> None:
    """A value that a witness does not give is neither a pass nor a fail."""
    _, change, reason = row
    finding = _finding(change(healthy()), check)
    assert finding.result is Result.UNDETERMINED, finding
    assert reason in finding.reason
    assert finding.do


@pytest.mark.parametrize(("check", "row"), _rows(NOT_APPLICABLE), ids=lambda value: value if isinstance(value, str) else "")
def test_not_applicable_says_why(check: str, row: tuple[Change, str]) -> None:
    """A check that the spec makes meaningless says so, and needs no look for it."""
    change, reason = row
    for case in (change(healthy()), replace(change(healthy()), observations={})):
        finding = _finding(case, check)
        assert finding.result is Result.NOT_APPLICABLE
        assert reason in finding.reason


@pytest.mark.parametrize(("check", "row"), _rows(PASSES), ids=lambda value: value if isinstance(value, str) else value[0])
def test_harmless_oddities_pass(check: str, row: tuple[str, Change]) -> None:
    """What real machines do without being broken is not held against them."""
    finding = _finding(row[1](healthy()), check)
    assert finding.result is Result.PASS, finding


SIGHTS = [(check, sight) for check in CHECKS for sight in check.sights if not sight.optional]


@pytest.mark.parametrize(("check", "sight"), SIGHTS, ids=lambda value: value.id if isinstance(value, Check) else str(value.kind))
def test_a_look_that_does_not_count_is_undetermined(check: Check, sight: Sight) -> None:
    """Missing, failed in five ways, stale, from the future, or with a gap in what is used: undetermined, with a hint."""
    kind, case = sight.kind, healthy()
    broken = [without(case, kind), aged(case, kind, -3600)]
    broken += [unreadable(case, kind, why) for why in ("timeout", "refused", "unauthorized", "certificate", "malformed", "error")]
    broken += [gapped(case, kind, use) for use in sight.uses] + [gapped(case, kind, use.partition("/")[0]) for use in sight.uses]
    if sight.max_age_s != float("inf"):
        broken.append(aged(case, kind, sight.max_age_s + 1))
    if sight.since_boot:
        broken.append(aged(case, kind, 3001))
    for each in broken:
        finding = _finding(each, check.id)
        assert finding.result is Result.UNDETERMINED, finding
        assert finding.reason
        assert finding.do


def test_failures_of_a_bmc_are_told_apart_in_words_and_hint() -> None:
    """Silence, refusal, a rejected account and another certificate each have their own words and their own next step."""
    classes = ("timeout", "refused", "unauthorized", "certificate", "malformed", "error")
    findings = [_finding(unreadable(healthy(), Kind.BMC_POWER, why), "inventory.bmc-answers") for why in classes]
    assert len({finding.reason for finding in findings}) == len(classes)
    assert len({finding.do for finding in findings}) == len(classes)
    assert "no password was sent" in findings[3].do


def test_parts_of_a_machine_that_is_off_are_not_missing() -> None:
    """With the power off a BMC shows no GPUs: that is undetermined, not red."""
    off = seeing(with_bmc(healthy(), gpus=(), nvlinks=(), nvswitches=()), Kind.BMC_POWER, OOB, replace(POWER_ON, power=PowerState.OFF))
    finding = _finding(off, "inventory.gpus")
    assert finding.result is Result.UNDETERMINED
    assert "off" in finding.reason


def test_the_newest_in_band_look_counts_even_when_it_failed() -> None:
    """An older inventory from the RAM disk does not hide that the installed agent could not read its own."""
    failed = look(Kind.AGENT_HARDWARE, RUNNING, None, 5, failure="dmidecode: permission denied")
    case = healthy()
    case = replace(case, observations={**case.observations, (Kind.AGENT_HARDWARE, RUNNING): failed})
    assert _finding(case, "inventory.cpus").result is Result.UNDETERMINED
    case = seeing(case, Kind.AGENT_HARDWARE, RUNNING, HardwareSeen(facts=agent_facts()), 4)
    assert _finding(case, "inventory.cpus").result is Result.PASS


def test_an_attribute_gap_does_not_hide_the_part() -> None:
    """The BMC of a NIC without a serial still counts that NIC; a chassis it could not read counts for nothing."""
    case = gapped(healthy(), Kind.BMC_HARDWARE, "nics/mlx5_0/serial")
    assert _finding(case, "inventory.witnesses-agree").result is Result.PASS
    assert _finding(gapped(healthy(), Kind.BMC_HARDWARE, "chassis"), "inventory.witnesses-agree").result is Result.UNDETERMINED


def test_hostile_texts_are_bounded_and_printable() -> None:
    """A BMC that answers with escape codes or a novel does not write them into findings."""
    finding = _finding(_bmc_gpu(0, model="\x1b[31mH100\n" + "A" * 10_000)(healthy()), "inventory.gpus")
    assert finding.result is Result.FAIL
    assert len(finding.seen) <= 600
    assert finding.seen.isprintable()


def test_the_image_digest_is_marked_as_self_measured() -> None:
    """Evidence never claims more for a self-measured digest than it is."""
    finding = _finding(healthy(), "os.image")
    assert IMAGE in finding.seen
    assert "self-measured" in finding.seen


def test_the_healthy_node_is_green_in_all_three_gates() -> None:
    """The builder other tests rely on is what it says."""
    assert {judge_node(healthy(), check.gate).colour for check in CHECKS} == {Colour.GREEN}
