"""The judge: runs the checks of a gate on a case and colours the verdict. Fails closed, here and not in every check.

A look that is missing, failed, stale or has a gap, a check that crashes, a gate without checks: undetermined, never green.
Called by the planner for every node and turn, and by `metalwright gate run`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from metalwright.evidence.waivers import waives
from metalwright.gates.answers import cleaned, not_applicable, undetermined
from metalwright.gates.check import Answer, Check, SiteCheck
from metalwright.gates.due import needs_of
from metalwright.gates.freshness import Blocked, usable_look
from metalwright.gates.registry import SITE_CHECKS, checks_of, find_check
from metalwright.model.case import NodeCase, SiteCase, Waiver
from metalwright.model.errors import InvariantError
from metalwright.model.ids import CheckId, Instant, Subject, node_subject
from metalwright.model.judgement import Cited, Colour, Finding, Gate, GateVerdict, Result
from metalwright.model.observation import Kind, Observation, Witness

__all__ = ["is_waived", "judge_check", "judge_node", "judge_site", "needs_of", "site_subject"]

OK = (Result.PASS, Result.NOT_APPLICABLE)


def judge_node(case: NodeCase, gate: Gate) -> GateVerdict:
    """Every check of `gate` on one node, at `case.now`."""
    subject = node_subject(case.node.name)
    findings: list[Finding] = []
    cited: dict[tuple[Kind, Witness], Observation] = {}
    for check in checks_of(gate):
        looks, blocked = _looks(case, check)
        cited.update(looks)
        findings.extend(_findings(check, subject, _node_answers(case, check, looks, blocked)))
    return replace(_verdict(gate, subject, findings, case), cited=_citations(subject, cited.values()))


def judge_site(case: SiteCase) -> GateVerdict:
    """The `plan` gate: the site's spec alone."""
    subject = site_subject(case)
    findings = [finding for check in SITE_CHECKS for finding in _findings(check, subject, _site_answers(case, check))]
    return _verdict(Gate.PLAN, subject, findings, case)


def judge_check(case: NodeCase | SiteCase, check: Check | SiteCheck) -> tuple[Finding, ...]:
    """The findings of one check alone, waivers noted: what `explain` shows."""
    if isinstance(case, NodeCase) and isinstance(check, Check):
        findings = _findings(check, node_subject(case.node.name), _node_answers(case, check, *_looks(case, check)))
    elif isinstance(case, SiteCase) and isinstance(check, SiteCheck):
        findings = _findings(check, site_subject(case), _site_answers(case, check))
    else:
        raise InvariantError(f"{check.id} is not a check of a {type(case).__name__}")
    return _verdict(check.gate, Subject(""), findings, case).findings


def is_waived(case: NodeCase, check_id: CheckId) -> bool:
    """Whether this check finds fault, and every fault of it is waived."""
    check = find_check(check_id)
    faults = [finding for finding in judge_check(case, check) if finding.result not in OK] if check is not None else []
    return bool(faults) and all(finding.waiver for finding in faults)


def waivable_text(finding: Finding) -> str:
    """What a waiver of this finding is held against: what was seen, or why it is undetermined."""
    return finding.seen or finding.reason


def site_subject(case: SiteCase) -> Subject:
    """The subject of the whole site."""
    return Subject(f"site:{case.spec.site.name}")


# -- one check ---------------------------------------------------------------------------------------------------------------


def _looks(case: NodeCase, check: Check) -> tuple[dict[tuple[Kind, Witness], Observation], list[Blocked]]:
    """The looks of a check that count, and why the others do not; none at all where the check does not apply."""
    looks: dict[tuple[Kind, Witness], Observation] = {}
    blocked: list[Blocked] = []
    for sight in check.sights if not check.why_not(case) else ():
        look = usable_look(case, sight)
        if isinstance(look, Blocked):
            blocked.extend(() if sight.optional else (look,))
        else:
            looks[look.kind, look.witness] = look
    return looks, blocked


def _node_answers(
    case: NodeCase, check: Check, looks: dict[tuple[Kind, Witness], Observation], blocked: Sequence[Blocked]
) -> tuple[Answer, ...]:
    why = check.why_not(case)
    if why:
        return not_applicable(why)
    if blocked and not check.fails_early:
        return _undetermined(blocked)
    seen = replace(case, observations=looks)  # a check reads what it declared, and nothing stale
    answers = _run(check, seen)
    if not blocked:
        return answers
    faults = tuple(answer for answer in answers if answer.result is Result.FAIL)
    return faults or _undetermined(blocked)


def _site_answers(case: SiteCase, check: SiteCheck) -> tuple[Answer, ...]:
    return _run(check, case)


def _run(check: Check | SiteCheck, case: NodeCase | SiteCase) -> tuple[Answer, ...]:
    try:
        answers = check.judge(case)  # type: ignore[arg-type]  # a Check is given a NodeCase, a SiteCheck a SiteCase
    except Exception as error:  # noqa: BLE001, RUF100  # the one place: a bug in one check must not stop the loop, nor ever pass
        return undetermined(f"check crashed: {type(error).__name__}: {error}", do="report it with the node's capture; this is a bug")
    return answers or undetermined("the check gave no answer", do="report it; this is a bug")


def _undetermined(blocked: Sequence[Blocked]) -> tuple[Answer, ...]:
    reasons = dict.fromkeys(block.reason for block in blocked)
    return undetermined("; ".join(reasons), do=blocked[0].do)


def _findings(check: Check | SiteCheck, subject: Subject, answers: Iterable[Answer]) -> list[Finding]:
    return [
        Finding(
            check=check.id,
            subject=Subject(f"{subject}/{answer.part}") if answer.part else subject,
            result=answer.result,
            expected=cleaned(answer.expected),
            seen=cleaned(answer.seen),
            reason=cleaned(answer.reason),
            do=cleaned(answer.do),
            source=check.source,
        )
        for answer in answers
    ]


# -- the verdict -------------------------------------------------------------------------------------------------------------


def _verdict(gate: Gate, subject: Subject, findings: Sequence[Finding], case: NodeCase | SiteCase) -> GateVerdict:
    waived = [_waived(finding, case.waivers, case.now) for finding in findings]
    open_results = {finding.result for finding, by in zip(findings, waived, strict=True) if finding.result not in OK and by is None}
    shown = tuple(finding if by is None else _with_waiver(finding, by) for finding, by in zip(findings, waived, strict=True))
    return GateVerdict(gate=gate, subject=subject, colour=_colour(open_results, waived, bool(findings)), findings=shown)


def _colour(open_results: set[Result], waived: Sequence[Waiver | None], any_finding: bool) -> Colour:
    if Result.FAIL in open_results:
        return Colour.RED
    if open_results or not any_finding:
        return Colour.UNDETERMINED
    return Colour.WAIVED if any(waived) else Colour.GREEN


def _waived(finding: Finding, waivers: Sequence[Waiver], now: Instant) -> Waiver | None:
    """The waiver of exactly this check, in its version, on exactly this subject, for what is seen now, that is in force."""
    check = find_check(finding.check) if finding.result not in OK and waivers else None
    if check is None:
        return None
    seen = waivable_text(finding)
    facts = {"check": finding.check, "version": check.version, "subject": finding.subject, "seen": seen, "now": now}
    return next((waiver for waiver in waivers if waives(waiver, identity=waiver.identity, **facts)), None)  # type: ignore[arg-type]


def _with_waiver(finding: Finding, by: Waiver) -> Finding:
    until = datetime.fromtimestamp(by.until, UTC).strftime("%Y-%m-%d %H:%M UTC")
    note = cleaned(f"waived by {by.by} until {until}: {by.reason}")
    return replace(finding, reason=f"{finding.reason}; {note}" if finding.reason else note, waiver=str(by.digest or "unsigned"))


def _citations(subject: Subject, looks: Iterable[Observation]) -> tuple[Cited, ...]:
    known = (look for look in looks if look.digest is not None)
    cited = (
        Cited(subject=subject, kind=look.kind, witness=look.witness, digest=look.digest, seen_at=look.seen_at)
        for look in known
        if look.digest is not None
    )
    return tuple(sorted(cited, key=lambda cite: (cite.kind, cite.witness)))
