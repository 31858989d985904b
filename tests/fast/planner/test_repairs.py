"""A red gate becomes a page per failing check: the part, what is wrong, the look that proves it mended."""

from dataclasses import replace

from metalwright.model.judgement import Colour
from metalwright.model.spec import CableSpec
from metalwright.planner.decide import judged
from metalwright.planner.repairs import repair_sheets
from metalwright.planner.sheets import Turn
from metalwright.service.work_page import page
from tests.fast.gates.cases import SERIAL, with_bmc
from tests.fast.planner.test_decide import case, in_ram

CABLES = tuple(
    CableSpec(label=f"C-{n:04d}", a_device="atlas01", a_port=f"nic{n}", b_device="leaf01", b_port=str(n + 1), fabric="compute", length_m=5)
    for n in range(8)
)


def test_each_failing_check_has_a_page() -> None:
    """Every failing check of a red gate and no other; each names the server, the place, expected and seen, and how to say it is mended."""
    broken = with_bmc(in_ram(), gpus=())
    broken = replace(broken, spec=replace(broken.spec, cables=CABLES))
    verdicts = list(judged(broken).values())
    sheets = repair_sheets(broken, verdicts)
    failing = {
        finding.check for verdict in verdicts if verdict.colour is Colour.RED for finding in verdict.findings if finding.result == "fail"
    }
    assert failing and {sheet.ticket for sheet in sheets} == {f"atlas01/{check}" for check in failing}
    for sheet in sheets:
        assert sheet.turn is Turn.MEND and sheet.serial == SERIAL and (sheet.rack, sheet.unit) == ("r01", 10)
        assert sheet.why and sheet.check and len(sheet.do) > 3 and sheet.command == "metalwright node retry atlas01"
        html = page(sheet)
        assert sheet.ticket in html and all(cable.label in html for cable in CABLES)


def test_what_is_green_or_undetermined_needs_no_hands() -> None:
    """Nothing is mended that nobody saw broken."""
    assert repair_sheets(case(), list(judged(case()).values())) == []
