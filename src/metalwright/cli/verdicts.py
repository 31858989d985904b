"""Verdicts in words and as JSON, and the exit code they mean."""

from collections.abc import Iterable, Sequence
from typing import Any

from metalwright.cli.output import COLOURS, WORDS, console
from metalwright.model.judgement import Colour, Finding, GateVerdict, Result


def exit_code(colours: Iterable[str]) -> int:
    """0 all green or waived, 1 any red, 2 any undetermined or nothing judged."""
    seen = set(colours)
    if Colour.RED in seen:
        return 1
    return 0 if seen and seen <= {Colour.GREEN, Colour.WAIVED} else 2


def verdict_json(verdict: GateVerdict) -> dict[str, Any]:
    """Stable keys: gate, subject, verdict, findings."""
    return {
        "gate": verdict.gate,
        "subject": verdict.subject,
        "verdict": verdict.colour,
        "findings": [finding_json(finding) for finding in verdict.findings],
    }


def finding_json(finding: Finding) -> dict[str, str]:
    return {
        "check": finding.check,
        "subject": finding.subject,
        "result": finding.result,
        "expected": finding.expected,
        "seen": finding.seen,
        "reason": finding.reason,
        "do": finding.do,
        "source": finding.source,
        "waiver": finding.waiver,
    }


def say_verdict(verdict: GateVerdict, *, everything: bool = False) -> None:
    """The verdict, then every finding that is not plainly fine (all of them with `everything`)."""
    out = console()
    out.print(f"gate {verdict.gate} on {verdict.subject}: [{COLOURS[verdict.colour]}]{WORDS[verdict.colour]}[/]")
    if everything:
        for finding in verdict.findings:
            say_finding(finding)
    else:
        say_open_findings(verdict.findings)


def say_open_findings(findings: Sequence[Finding]) -> None:
    """Every fault by itself; what could not be judged together, where one reason keeps many checks from judging."""
    for finding in findings:
        if finding.result is Result.FAIL:
            say_finding(finding)
    blocked: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.result is Result.UNDETERMINED:
            blocked.setdefault((finding.reason, finding.do), []).append(finding)
    for (reason, do), group in blocked.items():
        if len(group) == 1:
            say_finding(group[0])
            continue
        names = ", ".join(str(finding.check) for finding in group)
        out = console()
        out.print(f"  [yellow]undetermined  [/] {len(group)} checks of {group[0].subject}: {names}", soft_wrap=True)
        out.print(f"                 why       {reason}\n                 do        {do}", markup=False, soft_wrap=True)


def say_finding(finding: Finding) -> None:
    """One finding as a small paragraph."""
    out = console()
    style = {"pass": "green", "fail": "bold red", "undetermined": "yellow", "not-applicable": "dim"}[finding.result]
    out.print(f"  [{style}]{finding.result:<14}[/] {finding.check}  {finding.subject}", soft_wrap=True)
    for label, text in (("expected", finding.expected), ("seen", finding.seen), ("why", finding.reason), ("do", finding.do)):
        if text:
            out.print(f"                 {label:<9} {text}", markup=False, soft_wrap=True)
