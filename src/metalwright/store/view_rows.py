"""`ViewStore`: what status, explain and pages read."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, select

from metalwright.model.ids import Digest, OrderNumber, Subject
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.work import Operation, WorkOrder
from metalwright.ports import BoardRow, NodeRows
from metalwright.store import rows
from metalwright.store.part import Part
from metalwright.store.tables import bodies, operations, orders, subjects, verdicts

_SUBJECTS = select(subjects).where(subjects.c.is_active).order_by(subjects.c.subject)
_COLOURS = select(verdicts.c.subject, verdicts.c.gate, verdicts.c.colour, verdicts.c.red)
_OPERATIONS = (
    select(operations)
    .join(subjects, operations.c.order_number == subjects.c.head)
    .where(subjects.c.is_active)
    .order_by(operations.c.ordered_at, operations.c.id)
)
_VERDICTS = select(verdicts.c.body).where(verdicts.c.subject == bindparam("about"))
_ORDERS = select(orders).where(orders.c.subject == bindparam("about")).order_by(orders.c.number)
_BODY = select(bodies.c.body).where(bodies.c.digest == bindparam("digest"))
GATE_ORDER = {gate.value: place for place, gate in enumerate(Gate)}


class Views(Part):
    """See `ports.ViewStore`."""

    async def board(self) -> Sequence[BoardRow]:
        def work(connection: Connection) -> tuple[Sequence[RowMapping], Sequence[Any], Sequence[RowMapping]]:
            return (
                connection.execute(_SUBJECTS).mappings().all(),
                connection.execute(_COLOURS).all(),
                connection.execute(_OPERATIONS).mappings().all(),
            )

        found, judged, long = await self._database.read(work)
        colours: defaultdict[str, dict[Gate, str]] = defaultdict(dict)
        reds: dict[str, str] = {}
        for verdict in sorted(judged, key=lambda row: GATE_ORDER[row.gate]):
            colours[verdict.subject][Gate(verdict.gate)] = verdict.colour
            if verdict.red:
                reds.setdefault(verdict.subject, verdict.red)
        last = {row["subject"]: rows.operation_of(row) for row in long}
        return [_board_row(row, colours[row["subject"]], last.get(row["subject"]), reds.get(row["subject"], "")) for row in found]

    async def node(self, subject: Subject) -> NodeRows | None:
        found = await self._load([subject])
        return found[0] if found else None

    async def verdicts(self, subject: Subject) -> Sequence[GateVerdict]:
        found = await self._database.read(lambda connection: connection.execute(_VERDICTS, {"about": subject}).scalars().all())
        return sorted((rows.verdict_of(text) for text in found), key=lambda verdict: GATE_ORDER[verdict.gate.value])

    async def orders(self, subject: Subject) -> Sequence[WorkOrder]:
        found = await self._database.read(lambda connection: connection.execute(_ORDERS, {"about": subject}).mappings().all())
        return [rows.order_of(row, self._remembered.orders) for row in found]

    async def body(self, digest: Digest) -> bytes | None:
        found = await self._database.read(lambda connection: connection.execute(_BODY, {"digest": digest}).scalar_one_or_none())
        return None if found is None else bytes(found)


def _board_row(row: RowMapping, colours: Mapping[Gate, str], operation: Operation | None, red: str) -> BoardRow:
    return BoardRow(
        subject=Subject(row["subject"]),
        shard=row["shard"],
        colours=colours,
        order=None if row["head"] is None else OrderNumber(row["head"]),
        waiting=rows.waiting_of(row),
        operation=operation,
        red=red,
    )
