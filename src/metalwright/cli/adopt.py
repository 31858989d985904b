"""`metalwright adopt SITE`: a delivered cluster is looked at and judged by the same gates. Nothing is powered, booted or written."""

import argparse
import asyncio
import sys
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("adopt", help="look at a delivered cluster and judge it; nothing is powered, booted or written")
    parser.add_argument("site", type=Path)
    parser.add_argument("--timeout", type=float, default=None, metavar="SECONDS", help="stop after this time")
    parser.add_argument("--patience", type=float, default=1.0, metavar="FACTOR", help="multiplies every deadline")
    parser.add_argument("--json", action="store_true", help="print the final board as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit code of the final board: 0 all green, 1 a red verdict, 2 undetermined, as long as no witness inside the machines spoke."""
    return asyncio.run(_adopt(args))


async def _adopt(args: argparse.Namespace) -> int:
    from metalwright.cli.board import board_code, board_json, print_board
    from metalwright.cli.output import print_json
    from metalwright.cli.progress import show
    from metalwright.service.apply import ApplyOptions, applying

    options = ApplyOptions(patience=args.patience, timeout_s=args.timeout, observe_only=True)
    async with applying(args.site, options) as run_:
        if run_.is_viewer:
            print("an apply works on this site already; this only shows it", file=sys.stderr)
        await show(run_, quiet=args.json)
        board = await run_.control.board()
    if args.json:
        print_json(board_json(board))
    else:
        print_board(board)
    return board_code(board)
