"""`metalwright waive CHECK --on SUBJECT --reason … --until … --key …`: one finding is not held against a machine, until a time."""

import argparse
import asyncio
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("waive", help="sign that one finding does not count until a time")
    parser.add_argument("check")
    parser.add_argument("--on", required=True, metavar="SUBJECT", help="a node, node:NAME/PART, or site")
    parser.add_argument("--reason", required=True)
    parser.add_argument("--until", required=True, help="2026-12-24, 2026-12-24T18:00:00Z, or from now: 12h, 7d")
    parser.add_argument("--key", required=True, type=Path, help="SSH key of the signer; a .pub file takes the agent or security key")
    parser.add_argument("--by", help="who signs, where the key is of several people")
    parser.add_argument("--seen", help="instead of exactly what is seen: `[405..430]` for a number that may move, or `*`")
    parser.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 filed: the next turn judges with it; 3 refused, and nothing changed."""
    from metalwright.cli.output import print_json
    from metalwright.evidence.papers import write_time
    from metalwright.service.waiving import WaiveWish, waive

    wish = WaiveWish(check=args.check, on=args.on, reason=args.reason, until=args.until, key=args.key, by=args.by, seen=args.seen)
    waiver = asyncio.run(waive(args.site, wish))
    until = write_time(waiver.until)
    if args.json:
        print_json({"check": waiver.check, "subject": waiver.subject, "by": waiver.by, "until": until, "paper": str(waiver.digest)})
    else:
        print(f"{waiver.check} on {waiver.subject} is waived by {waiver.by} until {until}; the next turn judges with it")
    return 0
