"""`ViewStore`: what status, explain and pages read."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import bindparam, select

from metalwright.model.ids import Digest, OrderNumber, Subject
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.work import Operation, WorkOrder
from metalwright.ports import BoardRow, NodeRows
from metalwright.store import rows
from metalwright.store.loading import load_nodes
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
        async with self._database.read() as connection:
            found = (await connection.execute(_SUBJECTS)).mappings().all()
            judged = (await connection.execute(_COLOURS)).all()
            long = (await connection.execute(_OPERATIONS)).mappings().all()
        colours: defaultdict[str, dict[Gate, str]] = defaultdict(dict)
        reds: defaultdict[str, list[str]] = defaultdict(list)
        for verdict in sorted(judged, key=lambda row: GATE_ORDER[row.gate]):
            colours[verdict.subject][Gate(verdict.gate)] = verdict.colour
            reds[verdict.subject] += [verdict.red] if verdict.red else []
        last: dict[str, Operation] = {row["subject"]: rows.operation_of(row) for row in long}
        return [
            BoardRow(
                subject=Subject(row["subject"]),
                shard=row["shard"],
                colours=colours[row["subject"]],
                order=None if row["head"] is None else OrderNumber(row["head"]),
                waiting=rows.waiting_of(row),
                operation=last.get(row["subject"]),
                red=next(iter(reds[row["subject"]]), ""),
            )
            for row in found
        ]

    async def node(self, subject: Subject) -> NodeRows | None:
        async with self._database.read() as connection:
            found = await load_nodes(connection, [subject], self._remembered)
        return found[0] if found else None

    async def verdicts(self, subject: Subject) -> Sequence[GateVerdict]:
        async with self._database.read() as connection:
            found = (await connection.execute(_VERDICTS, {"about": subject})).scalars().all()
        return sorted((rows.verdict_of(text) for text in found), key=lambda verdict: GATE_ORDER[verdict.gate.value])

    async def orders(self, subject: Subject) -> Sequence[WorkOrder]:
        async with self._database.read() as connection:
            found = (await connection.execute(_ORDERS, {"about": subject})).mappings().all()
        return [rows.order_of(row, self._remembered.orders) for row in found]

    async def body(self, digest: Digest) -> bytes | None:
        async with self._database.read() as connection:
            found = (await connection.execute(_BODY, {"digest": digest})).scalar_one_or_none()
        return None if found is None else bytes(found)
