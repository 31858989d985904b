"""`metalwright status --clocks`: where the time before users went, and the time in service."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from metalwright.cli.output import console, print_json, table
from metalwright.model.judgement import PHASE_OF, Gate
from metalwright.service.clocks import ROUTE, NodeClocks


def show_clocks(nodes: Sequence[NodeClocks], *, as_json: bool) -> None:
    """One line per gate at which any node spent time."""
    if as_json:
        print_json([clocks_json(node) for node in nodes])
        return
    out = console()
    live = sum(node.in_service for node in nodes)
    out.print(f"{live} of {len(nodes)} nodes in service", markup=False)
    rows = [row for gate in ROUTE if (row := _row(gate, nodes))]
    if rows:
        out.print(table(["phase", "gate", "before users: median", "longest", "in service: median", "longest"], rows))


def _row(gate: Gate, nodes: Sequence[NodeClocks]) -> list[str]:
    before, after = (
        _cells(gate, [(node.before_s, node.node) for node in nodes]),
        _cells(gate, [(node.after_s, node.node) for node in nodes]),
    )
    return [PHASE_OF[gate], gate, *before, *after] if (before[0], after[0]) != ("–", "–") else []


def _cells(gate: Gate, clocks: Sequence[tuple[Mapping[Gate, float], str]]) -> list[str]:
    """Median and longest over the nodes that were there; the longest names its node."""
    spent = [(clock[gate], node) for clock, node in clocks if clock.get(gate, 0.0) > 0]
    if not spent:
        return ["–", "–"]
    longest, node = max(spent)
    return [duration(statistics.median(seconds for seconds, _ in spent)), f"{duration(longest)} ({node})"]


def duration(seconds: float) -> str:
    """`3 d 4 h`, `2 h 05 min`, `7 min 12 s`, `4 s`: two units at most."""
    whole = round(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {whole % 60:02d} s" if minutes else f"{whole} s"


def clocks_json(node: NodeClocks) -> dict[str, Any]:
    """Stable keys of `status --clocks --json`: milliseconds by gate."""
    return {
        "node": node.node,
        "at": node.at,
        "in_service": node.in_service,
        "before_users_ms": {gate: round(seconds * 1000) for gate, seconds in node.before_s.items()},
        "in_service_ms": {gate: round(seconds * 1000) for gate, seconds in node.after_s.items()},
    }
