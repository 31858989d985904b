"""`metalwright gate list|show|run`: the gates, and their verdicts with every finding."""

import argparse
import asyncio
from pathlib import Path


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
