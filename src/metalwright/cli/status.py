"""`metalwright status [NODE] --site SITE`: the gate board, and what each node waits for."""

import argparse
import asyncio
from pathlib import Path
from typing import Any


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("status", help="gate board; what each node waits for")
    parser.add_argument("node", nargs="?", help="one node in detail")
    parser.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 every node is open at the plan's last gate, 1 something is red, 2 something is undetermined or under way."""
    return asyncio.run(_status(args))


async def story(site: Path, node: str, *, as_json: bool) -> int:
    """One node in detail."""
    from metalwright.cli.board import node_story
    from metalwright.service.wiring import open_view

    async with open_view(site) as view:
        return await node_story(view, node, as_json=as_json)


async def _status(args: argparse.Namespace) -> int:
    from metalwright.cli.board import board_code, board_json, print_board
    from metalwright.cli.output import print_json
    from metalwright.service.wiring import open_view

    if args.node:
        return await story(args.site, args.node, as_json=args.json)
    async with open_view(args.site) as view:
        board: Any = await view.board()
        if args.json:
            print_json(board_json(board))
        else:
            print_board(board)
        return board_code(board)
