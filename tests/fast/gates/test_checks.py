"""Every check by table: what makes it fail, and that nothing missing, stale, failed or unread ever lets it pass."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from metalwright.gates.check import Check, Sight
from metalwright.gates.judge import judge_node
from metalwright.gates.registry import CHECKS
from metalwright.model.case import NodeCase
from metalwright.model.hardware import PowerState
from metalwright.model.judgement import Colour, Finding, Result
from metalwright.model.observation import HardwareSeen, Kind
from tests.fast.gates.cases import (
    IMAGE,
    POWER_ON,
    aged,
    agent_facts,
    gapped,
    healthy,
    look,
    seeing,
    unreadable,
    with_bmc,
    without,
)
from tests.fast.gates.check_tables import FAILS, NOT_APPLICABLE, OOB, PASSES, RUNNING, UNDETERMINED, Change, bmc_gpu


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
    finding = _finding(bmc_gpu(0, model="\x1b[31mH100\n" + "A" * 10_000)(healthy()), "inventory.gpus")
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
