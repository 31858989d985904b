"""`metalwright plan SITE`: the work orders that would be made, and why each node waits. Changes nothing."""

import argparse
import asyncio
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("plan", help="the work order that would be made, and why each node waits; changes nothing")
    parser.add_argument("site", type=Path)
    parser.add_argument("--until", choices=("inventory", "firmware", "os"), default="os")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 nothing is to be done, 2 something is or cannot be told yet, 1 the plan gate or a node is red."""
    return asyncio.run(_plan(args))


async def _plan(args: argparse.Namespace) -> int:
    from metalwright.cli.output import console, print_json, table
    from metalwright.model.judgement import Gate
    from metalwright.service.preview import preview

    seen = await preview(args.site, Gate(args.until))
    if args.json:
        print_json(
            {
                "site": seen.site,
                "plan": seen.plan,
                "nodes": [
                    {"node": line.node, "goal": line.goal, "steps": list(line.steps), "reason": line.reason, "open_order": line.open_order}
                    for line in seen.lines
                ],
            }
        )
        return seen.exit_code
    out = console()
    out.print(f"{seen.site} · plan gate {seen.plan} · {seen.orders} work orders would be made", markup=False)
    rows = [[line.node, line.goal, " → ".join(line.steps) or "–", line.reason] for line in seen.lines]
    if rows:
        out.print(table(["node", "towards", "steps", "why"], rows))
    if not seen.orders and seen.exit_code == 0:
        out.print("nothing to do: the work order is empty")
    return seen.exit_code
