"""`metalwright explain CHECK [--on NODE]`: rule, numbers and their sources; with a node also what was seen and what to do."""

import argparse
import asyncio
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("explain", help="a check's rule, threshold and source; or the story of a node")
    parser.add_argument("what", metavar="CHECK|NODE")
    parser.add_argument("--on", metavar="NODE", help="with what was seen on this node")
    parser.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 explained; for a node as `status NODE`; 3 for what is neither a check nor a node."""
    from metalwright.gates.registry import find_check

    if find_check(args.what) is None and "." not in args.what:
        from metalwright.cli.status import story

        return asyncio.run(story(args.site, args.what, as_json=args.json))
    return asyncio.run(_explain(args))


async def _explain(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from metalwright.cli.output import print_json
    from metalwright.gates.explain import as_text, explain
    from metalwright.service.judging import case_of

    told = explain(args.what, await case_of(args.site, args.on) if args.on else None)
    if args.json:
        print_json(asdict(told))
    else:
        print(as_text(told))
    return 0
