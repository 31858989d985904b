"""`PermitStore`: who wants to disrupt, and who may."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from metalwright.model.ids import OrderNumber, Subject
from metalwright.model.work import Permit, Wait
from metalwright.store import rows
from metalwright.store.part import Part
from metalwright.store.recording import WAKE
from metalwright.store.statements import AnyOf, insert_or_overwrite
from metalwright.store.tables import permits as permits_table
from metalwright.store.tables import subjects

_HAS_PERMIT = (permits_table.c.subject == subjects.c.subject) & (permits_table.c.order_number == subjects.c.head)
_WANTED = (
    select(subjects.c.subject, subjects.c.head)
    .outerjoin(permits_table, _HAS_PERMIT)
    .where(
        subjects.c.is_active,
        subjects.c.wait == Wait.PERMIT.value,
        subjects.c.head.is_not(None),
        permits_table.c.subject.is_(None),
    )
    .order_by(subjects.c.wait_since, subjects.c.subject)
)
"""Longest waiting first."""
_GRANTED = select(permits_table).join(subjects, _HAS_PERMIT).order_by(permits_table.c.subject)
_HEADS = select(subjects.c.subject, subjects.c.head).where(AnyOf(subjects.c.subject, "subjects"))
_TAKEN = ("order_number", "domains", "watts", "expires_at")


class Permits(Part):
    """See `ports.PermitStore`."""

    async def wanted(self) -> Sequence[tuple[Subject, OrderNumber]]:
        found = await self._database.read(lambda connection: connection.execute(_WANTED).all())
        return [(Subject(row.subject), OrderNumber(row.head)) for row in found]

    async def granted(self) -> Sequence[Permit]:
        found = await self._database.read(lambda connection: connection.execute(_GRANTED).mappings().all())
        return [rows.permit_of(row, Subject(row["subject"])) for row in found]

    async def grant(self, permits: Sequence[Permit]) -> None:
        subjects = sorted(permit.subject for permit in permits)
        await self._change(subjects, lambda connection: _grant(connection, subjects, permits))


def _grant(connection: Connection, subjects: Sequence[Subject], permits: Sequence[Permit]) -> None:
    """Only for what is still the head; the others lost their order meanwhile."""
    heads = {row.subject: row.head for row in connection.execute(_HEADS, {"subjects": subjects})}
    valid = sorted((permit for permit in permits if heads.get(permit.subject) == permit.order), key=lambda one: one.subject)
    if valid:
        statement = insert_or_overwrite(connection.dialect.name, permits_table, ("subject",), _TAKEN)
        connection.execute(statement, [rows.permit_values(permit) for permit in valid])
        connection.execute(WAKE, [{"b_subject": permit.subject, "b_at": 0.0} for permit in valid])
