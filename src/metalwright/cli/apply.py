"""`metalwright apply SITE`: make it so, gate by gate, with live progress."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalwright.service.control import Board


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("apply", help="make it so, gate by gate, with live progress")
    parser.add_argument("site", type=Path)
    parser.add_argument("--until", choices=("inventory", "firmware", "os"), default="os", help="stop at this gate (default: os)")
    parser.add_argument("--watch", action="store_true", help="go on after the last gate: keep looking, until interrupted")
    parser.add_argument(
        "--timeout", type=_more_than_zero, default=None, metavar="SECONDS", help="stop after this time (exit 2 if not done)"
    )
    parser.add_argument(
        "--patience", type=_more_than_zero, default=1.0, metavar="FACTOR", help="multiplies every deadline (emulated machines: 3)"
    )
    parser.add_argument("--json", action="store_true", help="print the final board as JSON")
    parser.set_defaults(run=run)


def _more_than_zero(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(text)
    return number


_more_than_zero.__name__ = "number above zero"  # argparse says: invalid number above zero value: '-1'


def run(args: argparse.Namespace) -> int:
    """Exit code of the final board: 0 all green, 1 a red verdict, 2 undetermined or timed out."""
    from metalwright.service.garbage import collect_rarely

    collect_rarely()
    return asyncio.run(_apply(args))


async def _apply(args: argparse.Namespace) -> int:
    from metalwright.cli.board import board_code, board_json, print_board
    from metalwright.cli.output import print_json

    board, timed_out = await _until_done(args)
    if args.json:
        print_json(board_json(board))
    else:
        print_board(board)
        if timed_out:
            print(f"stopped after {args.timeout:.0f} s; run the same command again to go on", file=sys.stderr)
    # Out of time, the board may still hold a former run's greens: they are no answer of this one.
    return board_code(board) or (2 if timed_out else 0)


async def _until_done(args: argparse.Namespace) -> "tuple[Board, bool]":
    """The last board, and whether the time ran out. Who looks on at a run that ends before the site is done goes on in its place."""
    from metalwright.cli.progress import show
    from metalwright.model.judgement import Gate
    from metalwright.service.apply import ApplyOptions, applying

    options = ApplyOptions(until=Gate(args.until), patience=args.patience, watch=args.watch, timeout_s=args.timeout)
    while True:
        async with applying(args.site, options) as run_:
            if run_.is_viewer:
                print("another apply works on this site; this one shows it, and goes on when that one ends", file=sys.stderr)
            await show(run_, quiet=args.json)
            if not run_.is_left_alone:
                return await run_.control.board(), run_.timed_out
