"""`metalwright status [NODE] --site SITE`: the gate board, and what each node waits for."""

import argparse
import asyncio
from pathlib import Path
from typing import Any


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("status", help="gate board; what each node waits for")
    parser.add_argument("node", nargs="?", help="one node in detail")
    parser.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
    parser.add_argument("--clocks", action="store_true", help="where the time went: before users, and in service")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 every node is open at the plan's last gate (or clocks were asked for), 1 something is red, 2 undetermined or under way."""
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

    if args.clocks:
        return await _clocks(args)
    if args.node:
        return await story(args.site, args.node, as_json=args.json)
    async with open_view(args.site) as view:
        board: Any = await view.board()
        if args.json:
            print_json(board_json(board))
        else:
            print_board(board)
        return board_code(board)


async def _clocks(args: argparse.Namespace) -> int:
    """0, whatever the time says."""
    from metalwright.cli.clocks import show_clocks
    from metalwright.model.errors import InputError
    from metalwright.model.ids import node_of
    from metalwright.service.clock import SystemClock
    from metalwright.service.clocks import read_clocks
    from metalwright.service.wiring import open_view

    async with open_view(args.site) as view:
        nodes = [str(node_of(row.subject)) for row in (await view.board()).rows]
    if args.node and args.node not in nodes:
        raise InputError(f"no node {args.node} in this site", hint="metalwright status lists them")
    shown = [args.node] if args.node else nodes
    show_clocks(await read_clocks(args.site, shown, SystemClock().now()), as_json=args.json)
    return 0
