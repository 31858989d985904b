"""Live progress: a board that redraws itself on a terminal, one line per change elsewhere."""

import asyncio
import sys
import time

from rich.console import Group
from rich.live import Live
from rich.text import Text

from metalwright.cli.board import SHOWN, board_line, headline, waits_for
from metalwright.cli.output import console, table
from metalwright.model.ids import node_of
from metalwright.ports import BoardRow
from metalwright.service.apply import Applying
from metalwright.service.control import Board

REDRAW_S = 0.3
SHOWN_NODES = 40
"""A terminal's height; of more nodes those that move are shown."""


async def show(run: Applying, *, quiet: bool) -> None:
    """Until the run is finished."""
    if quiet:
        await run.finished()
    elif sys.stdout.isatty():
        await _live(run)
    else:
        await _lines(run)


async def _live(run: Applying) -> None:
    with Live(console=console(), auto_refresh=False, transient=True) as live:
        while True:
            done = await run.finished(within_s=REDRAW_S)
            board = await run.control.board_or_none()
            if board is not None:
                live.update(_drawn(board, run), refresh=True)
            if done:
                return


def _drawn(board: Board, run: Applying) -> Group:
    moving = sorted(board.rows, key=lambda row: row.waiting is None)[:SHOWN_NODES] if len(board.rows) > SHOWN_NODES else board.rows
    head = Text.from_markup(f"{headline(board)} · {time.monotonic() - run.began_at:.0f} s")
    return Group(head, table(["node", *SHOWN, "waits for"], [board_line(row) for row in moving]))


async def _lines(run: Applying) -> None:
    """`[ 12 s] node01  inventory green · waits for image: …`, only when something changed."""
    last: dict[str, str] = {}
    while True:
        done = await run.finished(within_s=REDRAW_S)
        board = await run.control.board_or_none()
        for row in board.rows if board is not None else ():
            words, shape = _line(row)
            if last.get(row.subject) != shape:
                last[row.subject] = shape
                print(f"[{time.monotonic() - run.began_at:5.0f} s] {node_of(row.subject):<10} {words}", flush=True)
        if done:
            return
        await asyncio.sleep(0)


def _line(row: BoardRow) -> tuple[str, str]:
    """The words, and what of them counts as a change (a percentage alone prints in steps of ten)."""
    gates = "  ".join(f"{gate} {row.colours[gate]}" for gate in SHOWN if row.colours.get(gate) not in (None, "undetermined"))
    operation = row.operation
    share = 10 * operation.units_done // operation.units_total if operation and operation.units_total else None
    written = f"  image {share * 10} %" if share is not None and operation and operation.state == "running" else ""
    waits = f"  … {waits_for(row)}" if row.waiting and not written else ""
    text = f"{gates}{written}{waits}".strip() or "looking"
    return text, text
