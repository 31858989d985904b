"""The judge: colours, waivers, citations, crashes and due looks."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.gates import judge as judging
from metalwright.gates.check import Answer, Check
from metalwright.gates.due import urgent_needs
from metalwright.gates.judge import judge_node, needs_of
from metalwright.gates.registry import CHECKS, find_check
from metalwright.gates.sights import HARDWARE_S, POWER
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId, Subject
from metalwright.model.judgement import Colour, Gate, Result
from metalwright.model.observation import Kind, Observation, Witness
from tests.fast.gates.cases import LOOKS, NOW, SPEC, aged, bmc_facts, healthy, look, unreadable, waiver, with_bmc, without

GATES = (Gate.INVENTORY, Gate.FIRMWARE, Gate.OS)
NODE = Subject("node:atlas01")


def test_ids_are_unique_and_name_their_gate() -> None:
    """A check id is `<gate>.<name>` and belongs to one check."""
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.id.partition(".")[0] == check.gate for check in CHECKS)
    assert find_check("inventory.gpus") is not None
    assert find_check("inventory.nothing") is None


def test_a_gate_without_checks_is_undetermined() -> None:
    """A gate nobody has written checks for is not green."""
    verdict = judge_node(healthy(), Gate.ACCEPTANCE)
    assert verdict.colour is Colour.UNDETERMINED
    assert not verdict.is_open


def test_verdicts_cite_the_looks_they_rest_on() -> None:
    """Every look that counted is cited by its digest, and none that did not."""
    verdict = judge_node(unreadable(healthy(), Kind.BMC_POWER), Gate.INVENTORY)
    cited = {(cite.kind, cite.witness) for cite in verdict.cited}
    assert (Kind.BMC_HARDWARE, Witness.OUT_OF_BAND) in cited
    assert (Kind.AGENT_HARDWARE, Witness.RAM_DISK) in cited
    assert (Kind.BMC_POWER, Witness.OUT_OF_BAND) not in cited
    assert all(cite.digest.startswith("sha256:") for cite in verdict.cited)


def test_a_red_finding_wins_over_undetermined_ones() -> None:
    """Red is red even while something else cannot be read."""
    case = unreadable(with_bmc(healthy(), gpus=bmc_facts().gpus[1:]), Kind.BMC_POWER)
    assert judge_node(case, Gate.INVENTORY).colour is Colour.RED


def test_a_waiver_opens_the_gate_until_it_expires() -> None:
    """Waived means: everything that is not in order is waived, by an unexpired waiver of that check on that subject."""
    subject = Subject("node:atlas01/firmware:HGX_FW_BMC_0")
    case = replace(with_bmc(healthy(), firmware=()), waivers=(waiver("firmware.baseline", subject, until=NOW + 1),))
    verdict = judge_node(case, Gate.FIRMWARE)
    assert verdict.colour is Colour.WAIVED
    assert verdict.is_open
    assert verdict.findings[0].result is Result.FAIL
    assert "ops-lead@example.org" in verdict.findings[0].reason
    assert judge_node(replace(case, now=NOW + 1), Gate.FIRMWARE).colour is Colour.RED


@pytest.mark.parametrize(
    ("check", "subject"), [("firmware.baseline", NODE), ("inventory.gpus", Subject("node:atlas01/firmware:HGX_FW_BMC_0"))]
)
def test_a_waiver_of_another_subject_or_check_waives_nothing(check: str, subject: Subject) -> None:
    """A waiver binds one check and one subject exactly."""
    case = replace(with_bmc(healthy(), firmware=()), waivers=(waiver(check, subject),))
    assert judge_node(case, Gate.FIRMWARE).colour is Colour.RED


@pytest.mark.parametrize("change", [{"version": 2}, {"seen": "another text"}, {"starts_at": NOW + 1}])
def test_a_waiver_is_for_what_was_signed(change: dict[str, Any]) -> None:
    """A stricter version of the check, another value, a time that has not come: not waived."""
    subject = Subject("node:atlas01/firmware:HGX_FW_BMC_0")
    case = with_bmc(healthy(), firmware=())
    good = waiver("firmware.baseline", subject)
    assert judge_node(replace(case, waivers=(good,)), Gate.FIRMWARE).colour is Colour.WAIVED
    assert judge_node(replace(case, waivers=(replace(good, **change),)), Gate.FIRMWARE).colour is Colour.RED


def test_a_waiver_does_not_cover_what_is_not_waived() -> None:
    """One waived finding beside an open one leaves the gate shut."""
    case = with_bmc(healthy(), gpus=bmc_facts().gpus[1:])
    case = replace(unreadable(case, Kind.BMC_POWER), waivers=(waiver("inventory.gpus", NODE),))
    assert judge_node(case, Gate.INVENTORY).colour is not Colour.WAIVED
    assert not judge_node(case, Gate.INVENTORY).is_open


def test_a_waiver_of_a_green_finding_keeps_it_green() -> None:
    """A leftover waiver does not make a healthy node look waived."""
    case = replace(healthy(), waivers=(waiver("firmware.baseline", NODE),))
    assert judge_node(case, Gate.FIRMWARE).colour is Colour.GREEN


def test_a_check_that_crashes_is_undetermined() -> None:
    """A bug in a check neither stops the loop nor passes."""

    def crash(case: NodeCase) -> tuple[Answer, ...]:
        raise ZeroDivisionError("by design")

    check = Check(id=CheckId("x.y"), gate=Gate.OS, version=1, title="", rule="", source="", sights=(POWER,), judge=crash)
    answers = judging._run(check, healthy())
    assert answers[0].result is Result.UNDETERMINED
    assert "check crashed: ZeroDivisionError" in answers[0].reason
    assert judging._run(replace(check, judge=lambda case: ()), healthy())[0].result is Result.UNDETERMINED


def test_a_check_sees_only_what_it_declares() -> None:
    """A look outside its declared sights is a bug that shows, not a silent dependency."""
    seen: list[NodeCase] = []

    def peek(case: NodeCase) -> tuple[Answer, ...]:
        seen.append(case)
        return (Answer(result=Result.PASS),)

    check = Check(id=CheckId("x.y"), gate=Gate.OS, version=1, title="", rule="", source="", sights=(POWER,), judge=peek)
    judging._node_answers(healthy(), check, *judging._looks(healthy(), check))
    assert set(seen[0].observations) == {(Kind.BMC_POWER, Witness.OUT_OF_BAND)}


def _broken(seen: Observation, how: str) -> Observation | None:
    match how:
        case "missing":
            return None
        case "failed":
            return replace(seen, body=None, failure_class="timeout", digest=None)
        case "old":
            return replace(seen, seen_at=seen.seen_at - 1e9)
        case "future":
            return replace(seen, seen_at=seen.seen_at + 1e6)
        case _:
            return seen


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(("missing", "failed", "old", "future", "fine")), min_size=len(LOOKS), max_size=len(LOOKS)))
def test_no_combination_of_bad_looks_is_green(fates: list[str]) -> None:
    """Whatever is missing, failed, stale or from the future: a gate that needs it is not open."""
    case = healthy()
    looks = {key: _broken(seen, fate) for (key, seen), fate in zip(case.observations.items(), fates, strict=True)}
    broken = replace(case, observations={key: seen for key, seen in looks.items() if seen is not None})
    spoilt = {key for key, fate in zip(looks, fates, strict=True) if fate not in ("fine", "old") or (fate == "old" and key[0] in AGEING)}
    for gate in GATES:
        sights = [sight for check in CHECKS if check.gate is gate for sight in check.sights if not sight.optional]
        needed = {(need.kind, need.witness) for sight in sights for need in sight.needs}
        verdict = judge_node(broken, gate)
        if needed & spoilt:
            assert not verdict.is_open, (gate, needed & spoilt)
        assert verdict.colour is not Colour.WAIVED


AGEING = {need.kind for check in CHECKS for need in check.needs if need.max_age_s != float("inf")}


@given(st.lists(st.sampled_from(list(Result)), max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
def test_green_needs_at_least_one_finding_and_only_good_ones(results: list[Result], waived: list[bool]) -> None:
    """No multiset of findings with a fail or an undetermined, and no empty one, is green; unwaived, it is not open."""
    base = judge_node(healthy(), Gate.FIRMWARE).findings[0]
    findings = [replace(base, check=CHECKS[n].id, result=result) for n, result in enumerate(results)]
    case = replace(healthy(), waivers=tuple(waiver(CHECKS[n].id, NODE) for n, is_waived in enumerate(waived) if is_waived))
    verdict = judging._verdict(Gate.FIRMWARE, NODE, findings, case)
    bad = [n for n, result in enumerate(results) if result not in (Result.PASS, Result.NOT_APPLICABLE)]
    assert (verdict.colour is Colour.GREEN) == (bool(results) and not bad)
    assert verdict.is_open == (bool(results) and all(waived[n] for n in bad))
    assert (verdict.colour is Colour.RED) == any(results[n] is Result.FAIL and not waived[n] for n in bad)


# -- due looks ---------------------------------------------------------------------------------------------------------------


def test_looks_are_due_before_they_stop_counting() -> None:
    """A gate does not flap at every refresh: looks are due at half the age at which they would not count."""
    ages = {(need.kind, need.witness): need.max_age_s for need in needs_of(Gate.INVENTORY, healthy())}
    assert ages[Kind.BMC_HARDWARE, Witness.OUT_OF_BAND] == HARDWARE_S / 2
    assert ages[Kind.BOOT_CLAIMS, Witness.ENDPOINT] == float("inf")


def test_hardware_is_due_at_once_after_a_boot() -> None:
    """A BMC's inventory from before the present boot is read again at once."""
    ages = {(need.kind, need.witness): need.max_age_s for need in needs_of(Gate.INVENTORY, aged(healthy(), Kind.BMC_HARDWARE, 1001))}
    assert ages[Kind.BMC_HARDWARE, Witness.OUT_OF_BAND] == 0.0


def test_hardware_is_not_swept_before_the_first_boot() -> None:
    """A sweep whose result would not count after the boot is not asked of a BMC; its power state is."""
    kinds = {need.kind for need in needs_of(Gate.INVENTORY, without(healthy(), Kind.AGENT_BOOT, Kind.BMC_HARDWARE))}
    assert Kind.BMC_HARDWARE not in kinds
    assert Kind.BMC_POWER in kinds


def test_a_mute_agent_is_no_reason_to_sweep_the_bmc() -> None:
    """Of an undetermined check only the looks that do not count are urgent; of a red one all of its looks are."""
    case = without(healthy(), Kind.AGENT_HARDWARE)
    assert {need.kind for need in urgent_needs(case, judge_node(case, Gate.INVENTORY))} == {Kind.AGENT_HARDWARE}
    red = with_bmc(healthy(), nvswitches=())
    assert {need.kind for need in urgent_needs(red, judge_node(red, Gate.INVENTORY))} == {Kind.BMC_HARDWARE}
    assert urgent_needs(healthy(), judge_node(healthy(), Gate.INVENTORY)) == ()


def test_checks_that_do_not_apply_need_nothing() -> None:
    """Without a firmware baseline nothing is read for the firmware gate."""
    assert needs_of(Gate.FIRMWARE, replace(healthy(), spec=replace(SPEC, firmware=()))) == ()


def test_judging_is_deterministic() -> None:
    """The same case gives the same verdict, and time alone changes no text: a statement is made only when something changed."""
    for gate, later in product(GATES, (0.0, 1.0, 250.0)):
        assert judge_node(replace(healthy(), now=NOW + later), gate) == judge_node(healthy(), gate)


def test_a_body_of_another_kind_does_not_count() -> None:
    """A look whose body is not of its kind is undetermined, not a crash."""
    case = healthy()
    wrong = look(Kind.BMC_POWER, Witness.OUT_OF_BAND, case.observations[Kind.BOOT_CLAIMS, Witness.ENDPOINT].body)
    case = replace(case, observations={**case.observations, (Kind.BMC_POWER, Witness.OUT_OF_BAND): wrong})
    finding = judge_node(case, Gate.INVENTORY).findings[0]
    assert finding.result is Result.UNDETERMINED
    assert "another kind" in finding.reason
