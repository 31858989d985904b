"""A red gate as a technician reads it: which part of which server, what is wrong with it, and the look that will prove it mended."""

from collections.abc import Sequence

from metalwright.gates.registry import find_check
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Colour, Finding, GateVerdict, Result
from metalwright.planner.sheets import Turn, WorkSheet, place_of, to_find


def repair_sheets(case: NodeCase, verdicts: Sequence[GateVerdict]) -> list[WorkSheet]:
    """One per failing check of a red gate."""
    sheets = []
    for verdict in verdicts:
        failing = [finding for finding in verdict.findings if finding.result is Result.FAIL]
        if verdict.colour is Colour.RED:
            checks = dict.fromkeys(finding.check for finding in failing)
            sheets += [_sheet(case, verdict, check, [finding for finding in failing if finding.check == check]) for check in checks]
    return sheets


def _sheet(case: NodeCase, verdict: GateVerdict, check: CheckId, findings: Sequence[Finding]) -> WorkSheet:
    known = find_check(check)
    title = f"Repair: “{known.title}” fails" if known else f"Repair what {check} found"
    rule = [f"Its rule: {known.rule}"] if known else []
    return WorkSheet(
        ticket=f"{case.node.name}/{check}",
        **place_of(case, verdict.gate, None),
        step=1,
        steps=(title,),
        attempt=1,
        made_at=case.waiting.since if case.waiting else case.now,
        turn=Turn.MEND,
        title=title,
        do=(*to_find(case), *(_mend(finding) for finding in findings), "Put back every cable and cover that was moved."),
        caution="Agree with the operator before the server is switched off or opened.",
        why=tuple(f"{check}: expected {finding.expected}; seen {finding.seen}." for finding in findings),
        check=(f"The check {check} must pass on a fresh look at this server.", *rule),
        command=f"metalwright node retry {case.node.name}",
    )


def _mend(finding: Finding) -> str:
    """`gpu:3: reseat it`; the part is named where exactly one is at fault."""
    part = finding.subject.partition("/")[2]
    do = f"{finding.do[:1].upper()}{finding.do[1:]}" if finding.do else "Find out why"
    return f"{do.rstrip('.')} ({part})." if part else f"{do.rstrip('.')}."
