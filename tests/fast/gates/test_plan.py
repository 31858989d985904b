"""The plan gate: what must be decided before anything is powered on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.gates.judge import judge_site
from metalwright.gates.plan.racks import carried_watts
from metalwright.gates.registry import SITE_CHECKS
from metalwright.model.case import SiteCase
from metalwright.model.ids import NodeName, RackName, Subject
from metalwright.model.judgement import Colour, Finding, Gate, Result
from metalwright.model.spec import (
    AcceptanceSpec,
    Capacity,
    Cooling,
    Depth,
    Feed,
    Objective,
    PurchaseLine,
    RackSpec,
    RetireData,
    RetirePolicy,
    Role,
    SiteIdentity,
    Workload,
)
from tests.fast.gates.cases import NODE, NOW, PROFILE, SERIAL, SPEC, site, waiver

Change = Callable[[SiteCase], SiteCase]


def _spec(**fields: Any) -> Change:
    return lambda case: replace(case, spec=replace(case.spec, **fields))


def _capacity(gpus: int, **fields: str) -> Change:
    words = {"tenancy": "single", "residency": "CH", **fields}
    return _spec(capacity=Capacity(workloads=(Workload(name="pretrain", kind="training", gpus=gpus),), **words))


def _rack(redundancy: str = "N+1", *feeds: float, cooling_kw: float = 30.0, units: int = 48) -> Change:
    named = tuple(Feed(name=f"F{n}", kw=kw) for n, kw in enumerate(feeds))
    rack = RackSpec(name=RackName("r01"), feeds=named, cooling=Cooling(kind="air", kw=cooling_kw), redundancy=redundancy, units=units)
    return _spec(racks=(rack,))


def _bought(*lines: PurchaseLine) -> Change:
    return _spec(purchase=(*SPEC.purchase, *lines))


def _retire(**fields: Any) -> Change:
    return _spec(retire=replace(SPEC.retire or RetirePolicy(media="purge"), **fields))


TWIN = replace(NODE, name=NodeName("atlas02"), serial="MW24H100002")

FAILS: dict[str, list[tuple[Change, str]]] = {
    "plan.capacity": [
        (_spec(capacity=None), "no capacity plan"),
        (_capacity(9), "9 GPUs"),
        (_capacity(-1), "-1 GPUs"),
        (_capacity(8, residency=""), "residency not said"),
        (_spec(capacity=Capacity(workloads=(), tenancy="single", residency="CH")), "workloads not said"),
    ],
    "plan.objectives": [
        (_spec(objectives=()), "none"),
        (_spec(objectives=(Objective(name="goodput", over=60),)), "goodput"),
        (_spec(objectives=(Objective(name="goodput", over=0, at_least="0.9"),)), "goodput"),
    ],
    "plan.owners": [
        (_spec(responsible={}), "declare-live"),
        (_spec(responsible={**SPEC.responsible, Role.WAIVE: ()}), "nobody for waive"),
        (_spec(responsible={**SPEC.responsible, Role.OWN_DATA: (" ",)}), "nobody for own-data"),
    ],
    "plan.depth": [
        (_spec(responsible={}, depth={"os": Depth.MANUAL}), "os: manual; nobody"),
        (_spec(responsible={Role.EXECUTE: (" ",)}, depth={"provision": Depth.ASSISTED, "os": Depth.AUTOMATIC}), "inventory: assisted"),
    ],
    "plan.acceptance": [
        (_spec(acceptance=None), "none"),
        (_spec(acceptance=AcceptanceSpec(use="standard", soak=0)), "without a soak"),
    ],
    "plan.retire": [
        (_spec(retire=None), "none"),
        (_retire(media="burn"), "burn"),
        (_retire(keys=None), "keys"),
        (_retire(data=()), "data"),
        (_retire(data=(RetireData(where="s3://x", then="forget"),)), "forget"),
    ],
    "plan.power": [
        (_rack("N+1", 17.3), "carry 0.0 kW with one feed gone"),
        (_rack("N+1", 9.0, 17.3), "carry 9.0 kW with one feed gone"),
        (_rack("2N", 10.1, 17.3), "carry 10.1 kW on one side"),
        (_rack("2N", 17.3, 17.3, 17.3), "carry 0.0 kW on one side"),
        (_rack("N", 5.0, 5.0), "carry 10.0 kW on all feeds"),
        (_rack("3N", 17.3, 17.3), "3N"),
        (_spec(nodes=(NODE, replace(TWIN, unit=20))), "2 nodes draw up to 20.4 kW"),
    ],
    "plan.cooling": [(_rack("N+1", 17.3, 17.3, cooling_kw=10.1), "10.2 kW of heat, air removes 10.1 kW")],
    "plan.space": [
        (_spec(nodes=(NODE, TWIN)), "unit 10 of rack r01 is already atlas01's"),
        (_rack("N+1", 17.3, 17.3, units=9), "outside rack r01 of 9 units"),
        (_spec(nodes=(replace(NODE, rack=RackName("r99")),)), "rack r99 is not declared"),
    ],
    "plan.purchase": [
        (_spec(purchase=()), "no purchase list"),
        (_spec(nodes=(NODE, TWIN)), "atlas02 (MW24H100002) is on the list 0 times"),
        (_bought(PurchaseLine(part="again", serial=SERIAL)), f"atlas01 ({SERIAL}) is on the list 2 times"),
        (_bought(PurchaseLine(part="again", serial="gpu0001 ")), "serial GPU0001 is on the list 2 times"),
        (_bought(PurchaseLine(part="gpu", serial="G1", node_serial="NOBODY1")), "NOBODY1"),
        (_bought(PurchaseLine(part="gpu", serial="G1", quantity=2, line=9)), "line 9: serial G1 with quantity 2"),
    ],
    "plan.image": [
        (_spec(system=None), "none is ordered"),
        (lambda case: replace(case, images={}), "not built"),
        (lambda case: replace(case, images={}, image_problems={"trainer@2026.11": "altered: frame 3"}), "altered: frame 3"),
    ],
}


def _finding(case: SiteCase, check: str) -> Finding:
    findings = [finding for finding in judge_site(case).findings if finding.check == check]
    assert len(findings) == 1, findings
    return findings[0]


@pytest.mark.parametrize("check", [check.id for check in SITE_CHECKS])
def test_every_site_check_passes_on_a_good_plan_and_has_a_failing_case(check: str) -> None:
    """A check that nothing in this table can make fail is no check."""
    assert _finding(site(), check).result is Result.PASS
    assert FAILS.get(check), f"{check} has no failing case in this table"


def _words(part: str | tuple[Change, str]) -> str:
    return part if isinstance(part, str) else part[1]


@pytest.mark.parametrize(("check", "row"), [(check, row) for check, rows in FAILS.items() for row in rows], ids=_words)
def test_a_hole_in_the_plan_is_red_and_says_what_to_do(check: str, row: tuple[Change, str]) -> None:
    """Each failing finding names what is missing, what was expected and what to write where."""
    change, seen = row
    finding = _finding(change(site()), check)
    assert finding.result is Result.FAIL, finding
    assert seen in finding.seen
    assert finding.expected
    assert finding.do
    assert finding.source
    assert judge_site(change(site())).colour is Colour.RED


def test_the_good_plan_is_green_simulated_or_not() -> None:
    """The same rules hold for a simulated site."""
    assert judge_site(site()).colour is Colour.GREEN
    simulated = _spec(site=SiteIdentity(name="atlas", simulated=True))(site())
    assert judge_site(simulated).colour is Colour.GREEN
    assert judge_site(_spec(capacity=None)(simulated)).colour is Colour.RED
    assert judge_site(simulated).gate is Gate.PLAN


def test_an_unknown_profile_is_undetermined_not_a_crash() -> None:
    """A case that does not hold a node's profile cannot be green."""
    verdict = judge_site(site(profiles={}))
    assert verdict.colour is Colour.UNDETERMINED
    assert any("check crashed" in finding.reason for finding in verdict.findings)


def test_one_rack_at_fault_is_its_own_subject_and_can_be_waived() -> None:
    """A waiver binds the rack that it names."""
    case = _rack("N+1", 9.0, 17.3)(site())
    rack = Subject("site:atlas/rack:r01")
    assert _finding(case, "plan.power").subject == rack
    assert judge_site(replace(case, waivers=(waiver("plan.power", rack),))).colour is Colour.WAIVED
    assert judge_site(replace(case, waivers=(waiver("plan.power", rack, until=NOW),))).colour is Colour.RED


def test_a_site_without_gpus_may_plan_none() -> None:
    """A site of plain machines plans workloads of no GPU."""
    case = _capacity(0)(site(profiles={"compute": replace(PROFILE, gpus=0)}))
    assert _finding(case, "plan.capacity").result is Result.PASS


@given(st.lists(st.floats(0.1, 60.0), min_size=1, max_size=6), st.sampled_from(["N", "N+1", "2N"]))
def test_redundancy_never_counts_more_than_what_is_left(kws: list[float], redundancy: str) -> None:
    """Losing any one feed leaves at least what N+1 promised; losing any half leaves at least what 2N promised."""
    feeds = tuple(Feed(name=str(n), kw=kw) for n, kw in enumerate(kws))
    carried = carried_watts(RackSpec(name=RackName("r"), feeds=feeds, cooling=Cooling(kind="air", kw=1.0), redundancy=redundancy))
    watts = sorted(kw * 1000 for kw in kws)
    lost = {"N": 0, "N+1": 1, "2N": (len(kws) + 1) // 2}[redundancy]
    assert carried <= sum(watts[: len(watts) - lost]) + 1e-6
