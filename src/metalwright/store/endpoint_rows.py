"""`EndpointStore`: boot grants and operations, as the listeners use them. They hold no lease: every write here is conditional."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Double, RowMapping, bindparam, case, select, update

from metalwright.model.boot import BootGrant
from metalwright.model.ids import Instant, NodeName, node_subject
from metalwright.model.work import Operation, OperationState
from metalwright.store import rows
from metalwright.store.part import Part
from metalwright.store.recording import WAKE
from metalwright.store.tables import Words, grants, operations, subjects

GRANTS_SHOWN = 16
"""The newest of a node: enough for every boot of its present and its last order."""
OPEN_STATES = (OperationState.ORDERED.value, OperationState.RUNNING.value)

_GRANTS = (
    select(grants).where(grants.c.node == bindparam("node")).order_by(grants.c.opens_at.desc(), grants.c.id.desc()).limit(GRANTS_SHOWN)
)
_BY_TOKEN = select(grants).where(grants.c.token_hash == bindparam("token_hash"))
_BY_SESSION = select(grants).where(grants.c.session_hash == bindparam("session_hash"), ~grants.c.revoked)
_NOW: BindParameter[float] = bindparam("b_now", type_=Double())
_CLAIM = (
    update(grants)
    .where(
        grants.c.token_hash == bindparam("b_token_hash"),
        grants.c.claimed_at.is_(None),
        ~grants.c.revoked,
        grants.c.opens_at <= _NOW,
        grants.c.expires_at > _NOW,
    )
    .values({name: bindparam(f"b_{name}") for name in rows.CLAIM_FIELDS})
)
_CONFLICT = (
    update(grants)
    .where(
        grants.c.token_hash == bindparam("b_token_hash"),
        grants.c.claimed_at.is_not(None),
        grants.c.session_hash.is_distinct_from(bindparam("b_session_hash", type_=Words())),
    )
    .values(conflicts=grants.c.conflicts + 1, revoked=True)
)
"""The same agent asking again with the session secret it chose is the lost answer of its first claim; anyone else is a second claim."""
_OPEN: Any = (
    select(operations)
    .join(subjects, subjects.c.subject == operations.c.subject)
    .where(operations.c.subject == bindparam("subject"), operations.c.state.in_(OPEN_STATES))
    .where((operations.c.order_number == subjects.c.head) | (operations.c.state == OperationState.RUNNING.value))
    .order_by(case((operations.c.order_number == subjects.c.head, 0), else_=1), operations.c.ordered_at.desc(), operations.c.id.desc())
    .limit(1)
)
"""Of the present order; else one that still runs for an older order, which must hear that it is no longer wanted. One that was ordered
by an older order and never taken is not handed out any more."""
_PROGRESS = (
    update(operations)
    .where(operations.c.id == bindparam("b_id"), operations.c.generation <= bindparam("b_generation"), operations.c.state.in_(OPEN_STATES))
    .values(boot_id=bindparam("b_boot_id"), **{name: bindparam(f"b_{name}") for name in rows.PROGRESS_FIELDS})
)


class EndpointRows(Part):
    """See `ports.EndpointStore`."""

    async def grants_of(self, node: NodeName) -> Sequence[BootGrant]:
        found = await self._database.read(lambda connection: connection.execute(_GRANTS, {"node": node}).mappings().all())
        return [rows.grant_of(row) for row in reversed(found)]

    async def claim_grant(self, token_hash: str, claimed: BootGrant, now: Instant) -> BootGrant | None:
        values = {"b_token_hash": token_hash, "b_now": now, **{f"b_{name}": getattr(claimed, name) for name in rows.CLAIM_FIELDS}}
        values["b_claimed_at"] = now
        row = await self._change([node_subject(claimed.node)], lambda connection: _claim(connection, values))
        return None if row is None else rows.grant_of(row)

    async def session(self, session_hash: str) -> BootGrant | None:
        wanted = {"session_hash": session_hash}
        row = await self._database.read(lambda connection: connection.execute(_BY_SESSION, wanted).mappings().one_or_none())
        return None if row is None else rows.grant_of(row)

    async def operation_for(self, node: NodeName) -> Operation | None:
        wanted = {"subject": node_subject(node)}
        row = await self._database.read(lambda connection: connection.execute(_OPEN, wanted).mappings().one_or_none())
        return None if row is None else rows.operation_of(row)

    async def progress(self, operation: Operation, boot_id: str) -> None:
        values = {
            "b_id": operation.id,
            "b_generation": operation.generation,
            "b_boot_id": boot_id,
            **{f"b_{name}": value for name, value in rows.progress_values(operation).items()},
        }

        def work(connection: Connection) -> None:
            is_written = connection.execute(_PROGRESS, values).rowcount == 1
            if is_written and operation.state.value not in OPEN_STATES:
                connection.execute(WAKE, {"b_subject": operation.subject, "b_at": 0.0})

        await self._change([operation.subject], work)


def _claim(connection: Connection, values: rows.Values) -> RowMapping | None:
    """The claim, or the conflict; and the row as it is then. On PostgreSQL a second claim waits here for the first one's commit."""
    if connection.execute(_CLAIM, values).rowcount == 0:
        connection.execute(_CONFLICT, {name: values[name] for name in ("b_token_hash", "b_session_hash")})
    row = connection.execute(_BY_TOKEN, {"token_hash": values["b_token_hash"]}).mappings().one_or_none()
    if row is not None:
        connection.execute(WAKE, {"b_subject": node_subject(NodeName(row["node"])), "b_at": 0.0})
    return row
