"""Every check has a fault that the drill can inject, so that no gate is believed that was never seen to fail."""

from pathlib import Path

import pytest

from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.site_folder import read_site
from metalwright.gates.judge import judge_site
from metalwright.gates.registry import CHECKS, SITE_CHECKS
from metalwright.model.judgement import Result
from metalwright.service.drill import chosen_faults
from metalwright.service.image_work import build_images
from metalwright.service.site_check import plan_case
from metalwright.simulator.spec_faults import SPEC_FAULTS

UNPROVEN = {"os.boot"}
"""A system that keeps the RAM disk's boot id is awaited, not judged: no fault shows it within a drill."""


def test_a_check_without_a_fault_breaks_the_build() -> None:
    """Whoever adds a check adds the fault that it must catch."""
    assert {check.id for check in CHECKS} - chosen_faults().keys() == UNPROVEN
    assert {check.id for check in SITE_CHECKS} == SPEC_FAULTS.keys()


def test_a_drilled_fault_is_not_stopped_by_an_earlier_gate() -> None:
    """Else its node would never come to the gate that it drills."""
    gate_of = {check.id: check.gate for check in CHECKS}
    for check, fault in chosen_faults().items():
        turned = [each.gate for each in CHECKS if each.id in fault.turns_red | fault.turns_undetermined]
        assert turned[0] is gate_of[check], (check, fault.name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drill") / "site"
    write_scaffold(folder, "simulated", nodes=2)
    build_images(folder, None, lambda _: None)
    return folder


@pytest.mark.parametrize("check", SPEC_FAULTS)
def test_each_hole_in_the_plan_turns_its_check_red(site: Path, check: str) -> None:
    """And the plan without it is green."""
    case = plan_case(site, read_site(site))
    assert {finding.result for finding in judge_site(case).findings} <= {Result.PASS, Result.NOT_APPLICABLE}
    findings = judge_site(SPEC_FAULTS[check].applied(case)).findings
    assert Result.FAIL in {finding.result for finding in findings if finding.check == check}
