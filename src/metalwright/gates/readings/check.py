"""What a check over a tool's output is: a rule over one kind of facts, and the platform that the facts are compared with.

A check never sees facts of another kind, and never a platform that is not known: `gates.readings.judge` answers in its place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from metalwright.gates.answer import Answer
from metalwright.gates.answers import Fault, listed, of_parts, undetermined
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport, GpuState
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate

PLATFORM = "data/accelerators.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingCheck:
    """`judge` is given facts of the kind `reads`, and the platform; a check that names no `profile` numbers gets any platform or None."""

    id: CheckId
    gate: Gate
    version: int
    title: str
    rule: str
    source: str
    reads: type[Any]
    judge: Callable[[Any, Any], tuple[Answer, ...]]
    facts: tuple[str, ...] = ()
    """Facts without which there is nothing to judge (`a|b`: either): an output that does not offer them does not hold this check."""
    profile: tuple[str, ...] = ()
    """Numbers of the platform that it compares with."""
    not_applicable: Callable[[AcceleratorProfile], str] | None = None
    """Why the platform makes the check meaningless; empty when it applies."""
    thresholds: tuple[str, ...] = ()
    missing: Callable[[Any], str] | None = None
    """What the facts lack, beyond `facts`, to answer at all; empty when nothing. It is then not in this file."""


def gpu_check(
    name: str,
    title: str,
    rule: str,
    source: str,
    *,
    judge: Callable[[GpuReport, Any], tuple[Answer, ...]],
    facts: tuple[str, ...] = (),
    profile: tuple[str, ...] = (),
    not_applicable: Callable[[AcceleratorProfile], str] | None = None,
    thresholds: tuple[str, ...] = (),
    missing: Callable[[GpuReport], str] | None = None,
) -> ReadingCheck:
    """A check of the `os` gate over the driver's report of the GPUs."""
    return ReadingCheck(
        id=CheckId(f"os.{name}"),
        gate=Gate.OS,
        version=1,
        title=title,
        rule=rule,
        source=source,
        reads=GpuReport,
        judge=judge,
        facts=facts,
        profile=profile,
        not_applicable=not_applicable,
        thresholds=thresholds,
        missing=missing,
    )


def over_gpus(
    report: GpuReport, facts: Sequence[str], fault: Callable[[GpuState], str], *, expected: str, ok: str, do: str
) -> tuple[Answer, ...]:
    """Every GPU by itself: a fault is red whatever else is unread; a fact that is unread anywhere keeps it from passing."""
    faults = [Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=seen) for gpu in report.gpus if (seen := fault(gpu))]
    if faults:
        return of_parts(faults, of=len(report.gpus), expected=expected, ok=ok, do=do)
    unread = [
        f"{gpu.name}: {fact.replace('_', ' ')}: {gpu.why_unread(fact)}"
        for gpu in report.gpus
        for fact in facts
        if getattr(gpu, fact) is None
    ]
    if unread or not report.gpus:
        return undetermined(listed(unread) or "the output describes no GPU", "read it again with the driver's own tool", expected=expected)
    return of_parts((), of=len(report.gpus), expected=expected, ok=ok, do=do)


def unless(feature: str, words: str) -> Callable[[AcceleratorProfile], str]:
    """Not applicable where the platform's driver reports no such thing."""
    return lambda profile: "" if feature in profile.reports else f"{profile.name}: {words}"
