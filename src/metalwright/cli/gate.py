"""`metalwright gate list|show|run|drill`: the gates, and their verdicts with every finding."""

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalwright.service.drill import Score


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("gate", help="list the gates; show or run one: a red exits 1, undetermined exits 2")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every gate and its checks")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=run)
    for name, help_text in (("show", "the last recorded verdicts"), ("run", "judge now, from what is known now; records nothing")):
        action = actions.add_parser(name, help=help_text)
        action.add_argument("gate", choices=("plan", "inventory", "firmware", "os"))
        action.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
        action.add_argument("--node", help="only this node")
        action.add_argument("--all", action="store_true", help="also the findings that are fine")
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=run)
    drill = actions.add_parser("drill", help="one fault per check in a simulated site: the proof that every gate can fail")
    drill.add_argument("--out", type=Path, metavar="DIR", help="keep the drilled site, its bundle and its trust file there")
    drill.add_argument("--json", action="store_true")
    drill.set_defaults(run=_drill)


def run(args: argparse.Namespace) -> int:
    """0 green or waived, 1 a red verdict, 2 undetermined."""
    if args.action == "list":
        return _list(args.json)
    return asyncio.run(_verdicts(args))


def _list(as_json: bool) -> int:
    from metalwright.cli.output import console, print_json, table
    from metalwright.gates.registry import ALL_CHECKS
    from metalwright.model.judgement import PHASE_OF

    rows = [(PHASE_OF[check.gate], check.gate, check.id, check.title) for check in ALL_CHECKS]
    if as_json:
        print_json([{"phase": phase, "gate": gate, "check": check, "title": title} for phase, gate, check, title in rows])
    else:
        console().print(table(["phase", "gate", "check", "title"], rows))
    return 0


def _drill(args: argparse.Namespace) -> int:
    """0 every check is proven, 1 a check did not fail at its fault, or another one did; 2 a check has no fault."""
    import sys
    from tempfile import TemporaryDirectory

    from metalwright.cli.output import print_json
    from metalwright.service.drill import drill
    from metalwright.service.records import export

    def say(words: str) -> None:
        print(words, file=sys.stderr)

    async def drilled(folder: Path) -> int:
        score = await drill(folder, say)
        exported = await export(folder, folder / "drill.bundle", folder / "trust.json")
        print_json(_score_json(score)) if args.json else _say_score(score)
        if args.out:
            say(f"{exported.records} records: {folder / 'drill.bundle'}, trust file {folder / 'trust.json'}")
        if score.false_alarms or any(check.fault and not check.is_proven for check in score.checks):
            return 1
        return 0 if score.proven == len(score.checks) else 2

    if args.out:
        return asyncio.run(drilled(args.out))
    with TemporaryDirectory(prefix="metalwright-drill-") as scratch:
        return asyncio.run(drilled(Path(scratch) / "site"))


def _say_score(score: "Score") -> None:
    from metalwright.cli.output import COLOURS, console, table

    out = console()
    rows = []
    for check in score.checks:
        words = check.result if check.is_proven or check.fault else f"unproven: {check.result}"
        rows.append([check.check, check.fault or "–", str(check.subject or "–"), words, check.seen])
    out.print(table(["check", "fault", "on", "result", "seen"], rows))
    for alarm in score.false_alarms:
        out.print(f"false alarm: {alarm}", style=COLOURS["red"], markup=False)
    out.print(f"{score.proven} of {len(score.checks)} checks proven to fail, {len(score.false_alarms)} false alarms, {score.took_s:.0f} s")


def _score_json(score: "Score") -> dict[str, Any]:
    return {
        "proven": score.proven,
        "of": len(score.checks),
        "checks": [
            {"check": each.check, "fault": each.fault or None, "subject": each.subject, "result": each.result, "proven": each.is_proven}
            for each in score.checks
        ],
        "false_alarms": list(score.false_alarms),
    }


async def _verdicts(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.cli.verdicts import exit_code, say_verdict, verdict_json
    from metalwright.model.judgement import Gate
    from metalwright.service.judging import judge_now, recorded

    verdicts = await (judge_now if args.action == "run" else recorded)(args.site, Gate(args.gate), args.node)
    if args.json:
        print_json([verdict_json(verdict) for verdict in verdicts])
    else:
        for verdict in verdicts:
            say_verdict(verdict, everything=args.all)
        if not verdicts:
            print(f"gate {args.gate} was not judged yet")
    return exit_code([verdict.colour for verdict in verdicts])
