"""What a batch of turns decided → rows, in one transaction: intents, outcomes and statements together, or none of them.

Order of work: the fence, the compare-and-swap of the heads, then the rows of the subjects that won. Rows are written in the order of
their keys, so that two transactions on PostgreSQL never wait for each other in a circle.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Double, and_, bindparam, case, delete, or_, select, update
from sqlalchemy.sql.base import Executable

from metalwright.model.errors import FencedError, InvariantError
from metalwright.model.ids import OperationId, Subject
from metalwright.model.work import Wait
from metalwright.ports import Fence, NodeChange
from metalwright.store import rows
from metalwright.store.fencing import check_fence
from metalwright.store.statements import AnyOf, Least, insert_new, insert_or_overwrite
from metalwright.store.tables import BIG, citations, grants, operations, orders, permits, runs, statements, subjects, verdicts

_PARENT: BindParameter[int | None] = bindparam("b_parent", type_=BIG)
_WAKES: BindParameter[int | None] = bindparam("b_wakes", type_=BIG)
_DUE: BindParameter[float] = bindparam("b_due", type_=Double())

SWAP = (
    update(subjects)
    .where(subjects.c.subject == bindparam("b_subject"), subjects.c.head.is_not_distinct_from(_PARENT))
    .values(head=bindparam("b_number"))
)
HEADS = select(subjects.c.subject, subjects.c.shard, subjects.c.head).where(AnyOf(subjects.c.subject, "subjects"))
_WHEN = case((or_(_WAKES.is_(None), subjects.c.wakes == _WAKES), _DUE), else_=Least(subjects.c.next_due_at, _DUE))
"""What was recorded while the turn thought keeps the subject due: its wake is not overwritten by this turn's `next_due_at`."""
ACTED = update(subjects).where(subjects.c.subject == bindparam("b_subject")).values(next_due_at=_WHEN)
TURNED = ACTED.values(
    wait=bindparam("b_wait"), wait_text=bindparam("b_wait_text"), wait_since=bindparam("b_wait_since"), is_overdue=bindparam("b_is_overdue")
)
RELEASE = delete(permits).where(permits.c.subject == bindparam("b_subject"))
DROP_ENDED_PERMIT = delete(permits).where(permits.c.subject == bindparam("b_subject"), permits.c.expires_at <= bindparam("b_due"))
"""Of a subject whose turn waits for a permit: the one it had has ended, and must not keep it from being given another."""
DROP_STALE_PERMITS = delete(permits).where(
    and_(permits.c.subject == bindparam("b_subject"), permits.c.order_number != bindparam("b_number"))
)

RUN_KEY = ("order_number", "step", "attempt")
RUN_TAKEN = ("state", "began_at", "baseline", "epoch", "ended_at", "detail", "retry_at", "needs_person")
VERDICT_TAKEN = ("digest", "colour", "red", "body")


def commit_changes(connection: Connection, changes: Sequence[NodeChange], fence: Fence) -> list[Subject]:
    """Write the batch; returns the subjects whose new order lost, of which nothing was written."""
    check_fence(connection, fence)
    ordered = sorted(changes, key=lambda change: change.subject)
    lost = _swap_heads(connection, ordered, fence)
    won = [change for change in ordered if change.subject not in lost]
    _write_work(connection, won)
    _write_proof(connection, won)
    _write_subjects(connection, won)
    return sorted(lost)


def _run(connection: Connection, statement: Executable, values: Sequence[rows.Values]) -> None:
    if values:
        connection.execute(statement, values)


def _swap_heads(connection: Connection, changes: Sequence[NodeChange], fence: Fence) -> set[Subject]:
    """Every new order becomes the head of its subject if its parent still is; numbers are unique, so the heads tell who won."""
    wanted = {change.subject: change.order for change in changes if change.order is not None}
    _run(
        connection, SWAP, [{"b_subject": subject, "b_parent": order.parent, "b_number": order.number} for subject, order in wanted.items()]
    )
    found = {row.subject: row for row in connection.execute(HEADS, {"subjects": [change.subject for change in changes]})}
    for change in changes:
        _check_place(change.subject, found.get(change.subject), fence)
    return {subject for subject, order in wanted.items() if found[subject].head != order.number}


def _check_place(subject: Subject, row: Any, fence: Fence) -> None:
    if row is None:
        raise InvariantError(f"{subject} has no row: no adopted spec ever named it")
    if row.shard != fence.shard:
        raise FencedError(f"{subject} now belongs to {row.shard}, not to {fence.shard}", hint="the spec moved it; its next turn is there")


def _write_work(connection: Connection, changes: Sequence[NodeChange]) -> None:
    new = [change.order for change in changes if change.order is not None]
    _run(connection, orders.insert(), [rows.order_values(order) for order in new])
    ran = [rows.run_values(run) for change in changes for run in change.runs]
    _run(connection, insert_or_overwrite(connection.dialect.name, runs, RUN_KEY, RUN_TAKEN), ran)
    long = [rows.operation_values(operation, order_in(operation.id)) for change in changes for operation in change.operations]
    _run(connection, insert_or_overwrite(connection.dialect.name, operations, ("id",), ("cancel_wanted", "generation")), long)
    boots = [rows.grant_values(grant) for change in changes for grant in change.grants]
    _run(connection, insert_new(connection.dialect.name, grants, ("id",)), boots)
    _run(connection, DROP_STALE_PERMITS, [{"b_subject": order.body.subject, "b_number": order.number} for order in new])
    waits = [change for change in changes if change.waiting is not None and change.waiting.wait is Wait.PERMIT]
    _run(connection, DROP_ENDED_PERMIT, [{"b_subject": change.subject, "b_due": change.next_due_at} for change in waits])
    _run(connection, RELEASE, [{"b_subject": change.subject} for change in changes if change.release_permit])


def _write_proof(connection: Connection, changes: Sequence[NodeChange]) -> None:
    judged = [rows.verdict_values(verdict, _digest_of(change, verdict.gate)) for change in changes for verdict in change.verdicts]
    _run(connection, insert_or_overwrite(connection.dialect.name, verdicts, ("subject", "gate"), VERDICT_TAKEN), judged)
    cited = sorted({cited.digest for change in changes for verdict in change.verdicts for cited in verdict.cited})
    _run(connection, insert_new(connection.dialect.name, citations, ("digest",)), [{"digest": digest} for digest in cited])
    said = [rows.statement_values(statement) for change in changes for statement in change.statements]
    _run(connection, insert_new(connection.dialect.name, statements, ("statement_key",)), said)


def _write_subjects(connection: Connection, changes: Sequence[NodeChange]) -> None:
    _run(connection, ACTED, [_when(change) for change in changes if change.keep_waiting])
    _run(
        connection,
        TURNED,
        [
            _when(change) | {f"b_{name}": value for name, value in rows.waiting_values(change.waiting).items()}
            for change in changes
            if not change.keep_waiting
        ],
    )


def _when(change: NodeChange) -> rows.Values:
    return {"b_subject": change.subject, "b_due": change.next_due_at, "b_wakes": change.wakes}


def _digest_of(change: NodeChange, gate: Any) -> Any:
    try:
        return (change.verdict_digests or {})[gate]
    except KeyError as error:
        raise InvariantError(f"the verdict of {gate} on {change.subject} has no digest") from error


def order_in(identity: OperationId) -> int:
    """The order in `<order>/<step index>/<attempt>`."""
    number = identity.partition("/")[0]
    if not number.isdecimal():
        raise InvariantError(f"{identity!r} is no operation: it names no order")
    return int(number)
