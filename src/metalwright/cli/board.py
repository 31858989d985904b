"""The gate board: one line per node, and one node's story."""

import time
from typing import Any

from metalwright.cli.output import COLOURS, WORDS, console, print_json, table
from metalwright.cli.verdicts import exit_code, say_open_findings, verdict_json
from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName, node_of, node_subject
from metalwright.model.judgement import Gate, Result
from metalwright.model.work import Operation, OperationState, Wait
from metalwright.ports import BoardRow
from metalwright.service.control import Board, Control

SHOWN = (Gate.INVENTORY, Gate.FIRMWARE, Gate.OS)


def print_board(board: Board) -> None:
    """The board as a table, with the site's own gate above it."""
    out = console()
    out.print(headline(board))
    out.print(table(["node", *SHOWN, "waits for"], [board_line(row) for row in board.rows]))
    if board.failover_gap:
        out.print(board.failover_gap, style="yellow")
    if board.people:
        out.print(f"{board.people} node{'s' if board.people != 1 else ''} wait for a person: metalwright status NODE", style="yellow")


def headline(board: Board) -> str:
    """`atlas · provision · 5 of 6 nodes at gate os · plan gate green`."""
    simulated = " · simulated" if board.simulated else ""
    return (
        f"{board.site}{simulated} · {board.at_goal} of {len(board.rows)} nodes past gate {board.until} · "
        f"plan gate [{COLOURS.get(board.plan, 'dim')}]{WORDS.get(board.plan, 'not judged')}[/]"
    )


def board_line(row: BoardRow) -> list[str]:
    """Cells of one node."""
    cells = [str(node_of(row.subject) or row.subject)]
    for gate in SHOWN:
        colour = row.colours.get(gate)
        cells.append(WORDS.get(colour, "–") if colour else "–")
    if row.operation is not None and row.operation.state is OperationState.RUNNING:
        cells[-1] = progress_words(row.operation)
    cells.append(waits_for(row))
    return cells


def waits_for(row: BoardRow) -> str:
    """What the node waits for, in words; overdue is said."""
    if row.waiting is None:
        return ""
    overdue = " (overdue)" if row.waiting.overdue else ""
    who = "a person: " if row.waiting.wait is Wait.PERSON else ""
    is_writing = row.operation is not None and row.operation.state is OperationState.RUNNING  # it moves on between two turns
    return f"{who}{'the image to be written' if is_writing else row.waiting.text}{overdue}"


def progress_words(operation: Operation) -> str:
    """`imaging 63 %`."""
    total = operation.units_total
    return f"imaging {100 * operation.units_done // total} %" if total else "imaging"


def board_code(board: Board) -> int:
    """Exit code of the board: the colours of every node's gates up to the plan's last one."""
    gates = SHOWN[: SHOWN.index(board.until) + 1] if board.until in SHOWN else SHOWN
    return exit_code([board.plan or "undetermined", *(row.colours.get(gate) or "undetermined" for row in board.rows for gate in gates)])


def board_json(board: Board) -> dict[str, Any]:
    """Stable keys of `status --json`."""
    return {
        "site": board.site,
        "simulated": board.simulated,
        "plan": board.plan or "undetermined",
        "until": board.until,
        "failover_gap": board.failover_gap or None,
        "nodes": [
            {
                "node": node_of(row.subject),
                "rack": row.shard,
                "gates": {gate: row.colours.get(gate) for gate in SHOWN},
                "work_order": row.order,
                "waits_for": None
                if row.waiting is None
                else {"kind": row.waiting.wait, "text": row.waiting.text, "overdue": row.waiting.overdue},
                "red": row.red or None,
            }
            for row in board.rows
        ],
    }


async def node_story(view: Control, name: str, *, as_json: bool) -> int:
    """One node: verdicts with their findings, work orders, what it waits for."""
    story = await view.node(node_subject(NodeName(name)))
    if story is None:
        raise InputError(f"no node {name} in this site", hint="metalwright status lists them")
    if as_json:
        print_json(
            {
                "node": name,
                "verdicts": [verdict_json(verdict) for verdict in story.verdicts],
                "work_orders": [
                    {
                        "number": order.number,
                        "goal": order.body.goal,
                        "reason": order.body.reason,
                        "steps": [s.kind for s in order.body.steps],
                    }
                    for order in story.orders
                ],
                "waits_for": story.waiting.text if story.waiting else None,
            }
        )
    else:
        _print_story(name, story)
    return exit_code([verdict.colour for verdict in story.verdicts])


def _print_story(name: str, story: Any) -> None:
    out = console()
    out.print(f"node {name}", style="bold")
    for verdict in story.verdicts:
        fine = sum(finding.result in (Result.PASS, Result.NOT_APPLICABLE) for finding in verdict.findings)
        out.print(
            f"gate {verdict.gate}: [{COLOURS[verdict.colour]}]{WORDS[verdict.colour]}[/] ({fine} of {len(verdict.findings)} findings fine)"
        )
        say_open_findings(verdict.findings)
    for order in story.orders:
        steps = ", ".join(step.kind for step in order.body.steps)
        out.print(f"work order {order.number} ({time.strftime('%F %T', time.localtime(order.made_at))}) towards {order.body.goal}: {steps}")
    if story.waiting:
        out.print(f"waits for {story.waiting.text}", markup=False)
