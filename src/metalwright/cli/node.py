"""`metalwright node …`: list, show, retry, pause, resume, inspect."""

import argparse
import asyncio
from pathlib import Path

from metalwright.cli.node_inspect import add_parser as add_inspect_parser


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:

    parser = verbs.add_parser("node", help="list, show, retry, pause, resume; inspect URL: one BMC, no site needed")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, help_text in (
        ("list", "every node with its gates"),
        ("show", "one node's verdicts, orders and findings"),
        ("retry", "a repaired node may be tried again"),
        ("pause", "no new step on this node"),
        ("resume", "go on"),
    ):
        action = actions.add_parser(name, help=help_text)
        if name != "list":
            action.add_argument("node")
        action.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=run)
    add_inspect_parser(actions)


def run(args: argparse.Namespace) -> int:
    """list and show: as `status`; the others 0 once the request is recorded."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from metalwright.cli.board import board_code, board_json, node_story, print_board
    from metalwright.cli.output import print_json
    from metalwright.service.wiring import open_view

    async with open_view(args.site) as view:
        if args.action == "list":
            board = await view.board()
            print_json(board_json(board)) if args.json else print_board(board)
            return board_code(board)
        if args.action == "show":
            return await node_story(view, args.node, as_json=args.json)
        number = await view.ask(args.action, args.node)
        said = {"request": number, "node": args.node, "asked": args.action}
        print_json(said) if args.json else print(f"{args.node}: {args.action} recorded (request {number}); the next turn reads it")
        return 0
