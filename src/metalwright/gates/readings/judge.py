"""Judges what was read from files: every check that the readings can meet. Fails closed, here and not in every check.

What a reading could not tell is undetermined; what no reading holds is `absent` and changes nothing. A reading with gaps never passes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from metalwright.gates.answer import Answer
from metalwright.gates.answers import cleaned, listed, not_applicable, undetermined
from metalwright.gates.readings.check import ReadingCheck
from metalwright.gates.readings.registry import READING_CHECKS
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.ids import CheckId, Subject
from metalwright.model.judgement import Colour, Finding, Result
from metalwright.model.reading import Facts, Reading, Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsVerdict:
    """`absent`: checks that nothing in the files can answer, with what they would need."""

    colour: Colour
    findings: tuple[Finding, ...]
    absent: tuple[tuple[CheckId, str], ...] = ()


def judge_readings(
    readings: Sequence[Reading], profile: AcceleratorProfile | None, checks: Sequence[ReadingCheck] = READING_CHECKS
) -> ReadingsVerdict:
    """Each check on each reading of its kind."""
    findings: list[Finding] = []
    absent: list[tuple[CheckId, str]] = []
    for check in checks:
        found = [(reading, reading.content) for reading in readings if isinstance(reading.content, check.reads)]
        held = [(reading, facts) for reading, facts in found if not _lacks(check, facts)]
        if not held:
            absent.append((check.id, next((_lacks(check, facts) for _, facts in found), "")))
        for reading, facts in held:
            subject = Subject(reading.where or reading.format)
            findings += [_finding(check, subject, answer) for answer in _answers(check, facts, profile)]
    unread = [reading for reading in readings if isinstance(reading.content, Unreadable)]
    return ReadingsVerdict(colour=_colour(findings, bool(unread)), findings=tuple(findings), absent=tuple(absent))


def _lacks(check: ReadingCheck, facts: Facts) -> str:
    """What this output does not say, so that the check is not in this file; empty when it says everything."""
    lacking = [fact for fact in check.facts if not any(name in facts.offers for name in fact.split("|"))]
    if lacking:
        return "needs " + ", ".join(fact.replace("|", " or ").replace("_", " ") for fact in lacking)
    return check.missing(facts) if check.missing is not None else ""


def _answers(check: ReadingCheck, facts: Facts, profile: AcceleratorProfile | None) -> tuple[Answer, ...]:
    if check.profile and profile is None:
        do = "name the platform with --profile"
        return undetermined("it is not known which platform this is", do)
    why = check.not_applicable(profile) if check.not_applicable is not None and profile is not None else ""
    if why:
        return not_applicable(why)
    try:
        answers = check.judge(facts, profile)
    except Exception as error:  # noqa: BLE001, RUF100  # as in gates.judge: a bug in one check never passes, and never hides the others
        return undetermined(f"check crashed: {type(error).__name__}: {error}", do="report it with the file; this is a bug")
    return tuple(_held_back(answer, facts) for answer in answers) or undetermined("the check gave no answer", do="report it; this is a bug")


def _held_back(answer: Answer, facts: Facts) -> Answer:
    """A pass over half an output is none."""
    if answer.result is not Result.PASS or not facts.gaps:
        return answer
    reason = listed(dict.fromkeys(gap.why for gap in facts.gaps))
    return replace(answer, result=Result.UNDETERMINED, reason=reason, do="capture the whole output")


def _finding(check: ReadingCheck, subject: Subject, answer: Answer) -> Finding:
    return Finding(
        check=check.id,
        subject=Subject(f"{subject}/{answer.part}") if answer.part else subject,
        result=answer.result,
        expected=cleaned(answer.expected),
        seen=cleaned(answer.seen),
        reason=cleaned(answer.reason),
        do=cleaned(answer.do),
        source=check.source,
    )


def _colour(findings: Iterable[Finding], is_unread: bool) -> Colour:
    results = [finding.result for finding in findings]
    if Result.FAIL in results:
        return Colour.RED
    is_open = is_unread or Result.UNDETERMINED in results or Result.PASS not in results
    return Colour.UNDETERMINED if is_open else Colour.GREEN
