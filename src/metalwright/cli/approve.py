"""`metalwright approve RECORD|spec --key …`: a person in the right role agrees to a record, or to a spec that asks for less."""

import argparse
import asyncio
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("approve", help="sign that a record, or a spec that asks for less, is agreed to")
    parser.add_argument("what", metavar="RECORD|spec", help="a record's number (`evidence list`), or the spec as it is in the folder")
    parser.add_argument("--reason", required=True)
    parser.add_argument("--until", default="7d", help="2026-12-24, 2026-12-24T18:00:00Z, or from now: 12h, 7d (default)")
    parser.add_argument("--key", required=True, type=Path, help="SSH key of the signer; a .pub file takes the agent or security key")
    parser.add_argument("--by", help="who signs, where the key is of several people")
    parser.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 filed; 3 refused, and nothing changed."""
    from metalwright.cli.output import print_json
    from metalwright.evidence.papers import write_time
    from metalwright.service.approving import ApproveWish, approve

    wish = ApproveWish(what=args.what, reason=args.reason, until=args.until, key=args.key, by=args.by)
    approval = asyncio.run(approve(args.site, wish))
    until = write_time(approval.until)
    if args.json:
        print_json({"what": approval.what, "by": approval.by, "as": approval.role, "until": until, "paper": str(approval.paper)})
    else:
        print(f"{approval.what} is approved by {approval.by} as {approval.role} until {until}")
    return 0
