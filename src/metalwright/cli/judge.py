"""`metalwright judge FILE…`: reads captured tool output, says what it saw and what it could not read, and judges it. No site, no agent."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalwright.gates.readings.judge import ReadingsVerdict
    from metalwright.model.accelerator import AcceleratorProfile
    from metalwright.model.reading import Reading


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("judge", help="judge captured tool output (nvidia-smi, kernel log, dcgmi, nccl-tests …): no site needed")
    parser.add_argument("files", metavar="FILE", nargs="+", help="a file, or - for standard input")
    parser.add_argument("--profile", metavar="NAME", help="the platform, such as hgx-h100; without it the GPU model says which")
    parser.add_argument("--all", action="store_true", help="also the findings that are fine")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 green, 1 red, 2 undetermined, 3 a file that is not there."""
    from metalwright.cli.output import print_json
    from metalwright.cli.verdicts import exit_code
    from metalwright.codec.accelerators import named
    from metalwright.gates.readings.judge import judge_readings
    from metalwright.gates.readings.platform import platform_of
    from metalwright.readers.detect import read_bytes

    given = named(args.profile) if args.profile else None
    readings = [reading for file in args.files for reading in read_bytes(_bytes(file), _label(file))]
    profile = given or platform_of(readings)
    verdict = judge_readings(readings, profile)
    if args.json:
        print_json(_as_json(readings, profile, given is not None, verdict))
    else:
        _say(readings, profile, given is not None, verdict, everything=args.all)
    return exit_code([verdict.colour])


def _bytes(file: str) -> bytes:
    from metalwright.model.errors import InputError
    from metalwright.readers.words import MAX_BYTES

    try:
        if file == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(file).open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="name a file with the tool's output, or - to paste it") from error


def _label(file: str) -> str:
    return "standard input" if file == "-" else Path(file).name


def _as_json(
    readings: Sequence["Reading"], profile: "AcceleratorProfile | None", is_given: bool, verdict: "ReadingsVerdict"
) -> dict[str, Any]:
    """Stable keys: verdict, profile, readings, parts, findings, not_in_this_file."""
    from metalwright.cli.verdicts import finding_json
    from metalwright.gates.readings.part_verdicts import part_verdicts
    from metalwright.gates.readings.summary import summary, trouble

    return {
        "verdict": verdict.colour,
        "profile": profile.name if profile else None,
        "profile_from": "--profile" if is_given else "GPU model" if profile else None,
        "readings": [
            {"where": reading.where, "format": reading.format, "seen": summary(reading), "not_read": list(trouble(reading))}
            for reading in readings
        ],
        "parts": [
            {"part": each.part, "verdict": each.verdict or "unknown", "because": each.because, "by": each.by}
            for each in part_verdicts(readings)
        ],
        "findings": [finding_json(finding) for finding in verdict.findings],
        "not_in_this_file": [{"check": check, "needs": needs} for check, needs in verdict.absent],
    }


def _say(
    readings: Sequence["Reading"], profile: "AcceleratorProfile | None", is_given: bool, verdict: "ReadingsVerdict", *, everything: bool
) -> None:
    from metalwright.cli.output import COLOURS, WORDS, console
    from metalwright.cli.verdicts import say_finding, say_open_findings
    from metalwright.gates.readings.part_verdicts import part_verdicts
    from metalwright.gates.readings.summary import summary, trouble
    from metalwright.model.judgement import Result

    out = console()
    for reading in readings:
        out.print(f"{reading.where}: {reading.format}", style="bold", markup=False, soft_wrap=True)
        out.print(f"  {summary(reading)}", markup=False, soft_wrap=True)
        for words in trouble(reading):
            out.print(f"  not read: {words}", style="yellow", markup=False, soft_wrap=True)
    if profile is not None:
        origin = "as given" if is_given else "by the GPU's name; another one: --profile"
        limits = f"; {profile.limits}" if profile.limits else ""
        out.print(f"platform: {profile.name} ({origin}{limits})", markup=False, soft_wrap=True)
    passes = sum(finding.result is Result.PASS for finding in verdict.findings)
    if everything:
        for finding in verdict.findings:
            say_finding(finding)
    else:
        say_open_findings(verdict.findings)
    for each in part_verdicts(readings):
        words = f"  {each.part}: {each.verdict or 'unknown'} (by {each.by}: {each.because})"
        out.print(words, style="bold", markup=False, soft_wrap=True)
    for line in _absent(verdict.absent):
        out.print(f"  {line}", style="dim", markup=False, soft_wrap=True)
    others = len(verdict.findings) - passes
    out.print(f"[{COLOURS[verdict.colour]}]{WORDS[verdict.colour]}[/]: {passes} of {passes + others} findings pass", soft_wrap=True)


def _absent(checks: Sequence[tuple[str, str]]) -> Sequence[str]:
    """Checks with what they need; those of another tool are only counted."""
    near = [f"{check} ({need})" for check, need in checks if need]
    far = sum(not need for _, need in checks)
    lines = [f"not in this file: {', '.join(near)}"] if near else []
    return [*lines, f"not in this file: {far} checks of other tools' output"] if far else lines
