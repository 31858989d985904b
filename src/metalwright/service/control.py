"""The one interface that the command line (and later the pages) talk to; in-process here, over HTTP for a served site."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName, Subject, node_subject
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.work import Wait, WaitingFor, WorkOrder
from metalwright.planner.provisioning import GATES
from metalwright.ports import BoardRow, Clock, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The gate board of a site."""

    site: str
    simulated: bool
    plan: str
    """Colour of the plan gate; empty when it was not judged yet."""
    until: Gate
    rows: tuple[BoardRow, ...]
    at_goal: int
    people: int
    """Nodes that wait for a person."""
    failover_gap: str
    """Why a failover of the database could lose acknowledged rows; empty if it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One node in detail."""

    verdicts: tuple[GateVerdict, ...]
    orders: tuple[WorkOrder, ...]
    waiting: WaitingFor | None


def is_past(row: BoardRow, until: Gate) -> bool:
    """Every gate up to and with `until` is open: a later one that still stands open says nothing while an earlier one is not."""
    passed = GATES[: GATES.index(until) + 1] if until in GATES else GATES
    return all(row.colours.get(gate) in ("green", "waived") for gate in passed)


class Control(Protocol):
    async def board(self) -> Board: ...
    async def node(self, subject: Subject) -> Story | None: ...
    async def ask(self, kind: str, node: str, **body: str) -> int: ...


class StoreControl:
    """Control over an open store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def board(self) -> Board:
        stored = await self._store.current_spec()
        if stored is None:
            raise InputError("this site was never applied", hint="metalwright apply SITE")
        plan = await self._store.site_plan()
        until = plan.until if plan else Gate.OS
        site_rows = await self._store.load([Subject(f"site:{stored.spec.site.name}")])
        mark = site_rows[0].verdicts.get(Gate.PLAN) if site_rows else None
        rows = tuple(row for row in await self._store.board() if row.subject.startswith("node:"))
        return Board(
            site=stored.spec.site.name,
            simulated=stored.spec.site.simulated,
            plan=mark.colour if mark else "",
            until=until,
            rows=rows,
            at_goal=sum(is_past(row, until) for row in rows),
            failover_gap=await self._store.failover_gap(),
            people=sum(row.waiting is not None and row.waiting.wait is Wait.PERSON for row in rows),
        )

    async def node(self, subject: Subject) -> Story | None:
        rows = await self._store.node(subject)
        if rows is None:
            return None
        verdicts: Sequence[GateVerdict] = await self._store.verdicts(subject)
        orders = await self._store.orders(subject)
        return Story(verdicts=tuple(verdicts), orders=tuple(orders), waiting=rows.waiting)

    async def ask(self, kind: str, node: str, **body: str) -> int:
        """Append a request that a turn reads; InputError for an unknown node."""
        subject = node_subject(NodeName(node))
        if await self._store.node(subject) is None:
            raise InputError(f"no node {node} in this site", hint="metalwright status lists them")
        return await self._store.ask(kind, subject, body, self._clock.now())
