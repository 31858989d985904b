"""Everything a turn needs about a batch of subjects: a fixed number of statements, whatever the size of the batch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.sql import Select

from metalwright.codec.json_codec import from_bytes
from metalwright.model.errors import InvariantError
from metalwright.model.hardware import Gap
from metalwright.model.ids import Digest, Subject
from metalwright.model.judgement import Colour, Gate
from metalwright.model.observation import BODY_OF, Body, Kind, Observation, Witness
from metalwright.ports import SITE_SHARD, NodeRows, VerdictMark
from metalwright.store import rows
from metalwright.store.remembered import Remembered
from metalwright.store.statements import AnyOf
from metalwright.store.tables import bodies, grants, operations, orders, permits, requests, runs, seen, subjects, verdicts
from metalwright.store.transaction import Transaction

_BATCH = AnyOf(subjects.c.subject, "subjects")

SUBJECTS: Select[Any] = (
    select(
        subjects,
        orders.c.number,
        orders.c.parent,
        orders.c.site_plan,
        orders.c.digest,
        orders.c.made_at,
        orders.c.body,
        permits.c.order_number,
        permits.c.domains,
        permits.c.watts,
        permits.c.expires_at,
    )
    .outerjoin(orders, orders.c.number == subjects.c.head)
    .outerjoin(permits, (permits.c.subject == subjects.c.subject) & (permits.c.order_number == subjects.c.head))
    .where(_BATCH)
)
SEEN = select(seen).where(AnyOf(seen.c.subject, "subjects")).order_by(seen.c.subject, seen.c.kind, seen.c.witness)
BODIES = select(bodies.c.digest, bodies.c.body).where(AnyOf(bodies.c.digest, "digests"))
RUNS: Select[Any] = (
    select(subjects.c.subject, runs)
    .join(runs, runs.c.order_number == subjects.c.head)
    .where(_BATCH)
    .order_by(runs.c.order_number, runs.c.step, runs.c.attempt)
)
OPERATIONS: Select[Any] = (
    select(operations)
    .join(subjects, operations.c.order_number == subjects.c.head)
    .where(_BATCH)
    .order_by(operations.c.ordered_at, operations.c.id)
)
GRANTS: Select[Any] = (
    select(subjects.c.subject, grants)
    .join(grants, grants.c.order_number == subjects.c.head)
    .where(_BATCH)
    .order_by(grants.c.opens_at, grants.c.id)
)
ROUNDS = (
    select(orders.c.subject, orders.c.goal, orders.c.wish_digest, func.count().label("made"))
    .where(AnyOf(orders.c.subject, "subjects"))
    .group_by(orders.c.subject, orders.c.goal, orders.c.wish_digest)
)
MARKS = select(verdicts.c.subject, verdicts.c.gate, verdicts.c.digest, verdicts.c.colour).where(AnyOf(verdicts.c.subject, "subjects"))
PAUSES = (
    select(requests.c.subject, requests.c.kind, func.max(requests.c.id).label("last"))
    .where(requests.c.kind.in_(("pause", "resume")), AnyOf(requests.c.subject, "subjects"))
    .group_by(requests.c.subject, requests.c.kind)
)
SITES = select(subjects.c.subject).where(subjects.c.shard == SITE_SHARD, subjects.c.is_active)


async def load_nodes(connection: Transaction, wanted: Sequence[Subject], remembered: Remembered) -> list[NodeRows]:
    """The rows of the subjects that exist, in the order asked for."""
    batch = {"subjects": list(wanted)}
    heads = {row["subject"]: row for row in (await connection.execute(SUBJECTS, batch)).mappings()}
    looks = await _observations(connection, batch, remembered)
    ran = _grouped((row["subject"], rows.run_of(row)) for row in (await connection.execute(RUNS, batch)).mappings())
    long = _grouped((row["subject"], rows.operation_of(row)) for row in (await connection.execute(OPERATIONS, batch)).mappings())
    boots = _grouped((row["subject"], rows.grant_of(row)) for row in (await connection.execute(GRANTS, batch)).mappings())
    made = _grouped((row.subject, ((Gate(row.goal), Digest(row.wish_digest)), row.made)) for row in await connection.execute(ROUNDS, batch))
    marks = _grouped(
        (row.subject, (Gate(row.gate), VerdictMark(digest=Digest(row.digest), colour=Colour(row.colour))))
        for row in await connection.execute(MARKS, batch)
    )
    paused = await _paused(connection, heads)
    return [
        NodeRows(
            subject=subject,
            observations=tuple(looks[subject]),
            runs=tuple(ran[subject]),
            operations=tuple(long[subject]),
            order=None if row["number"] is None else rows.order_of(row, remembered.orders),
            grants=tuple(boots[subject]),
            rounds=dict(made[subject]),
            verdicts=dict(marks[subject]),
            waiting=rows.waiting_of(row),
            paused=subject in paused,
            permit=None if row["order_number"] is None else rows.permit_of(row, subject),
            wakes=row["wakes"],
        )
        for subject in wanted
        if (row := heads.get(subject)) is not None
    ]


def _grouped(pairs: Any) -> Mapping[str, list[Any]]:
    groups: defaultdict[str, list[Any]] = defaultdict(list)
    for subject, value in pairs:
        groups[subject].append(value)
    return groups


async def _observations(connection: Transaction, batch: Mapping[str, Any], remembered: Remembered) -> Mapping[str, list[Observation]]:
    looks = (await connection.execute(SEEN, batch)).mappings().all()
    keys = {(row["kind"], row["digest"]) for row in looks if row["digest"] is not None}
    decoded = {key: body for key in keys if (body := remembered.bodies.get(key)) is not None}
    if unknown := keys - decoded.keys():
        decoded |= await _read_bodies(connection, unknown, remembered)
    return _grouped((row["subject"], _observation(row, decoded)) for row in looks)


async def _read_bodies(connection: Transaction, keys: set[tuple[str, str]], remembered: Remembered) -> dict[tuple[str, str], Body]:
    digests = {"digests": sorted({digest for _, digest in keys})}
    stored: dict[str, bytes] = {row.digest: row.body for row in await connection.execute(BODIES, digests)}
    if missing := set(digests["digests"]) - stored.keys():
        raise InvariantError(f"the body of an observation is gone: {min(missing)}", hint="the database was altered")
    return {
        (kind, digest): remembered.bodies.put((kind, digest), from_bytes(BODY_OF[Kind(kind)], stored[digest]), len(stored[digest]))
        for kind, digest in keys
    }


def _observation(row: rows.Columns, decoded: Mapping[tuple[str, str], Body]) -> Observation:
    digest = row["digest"]
    return Observation(
        subject=Subject(row["subject"]),
        kind=Kind(row["kind"]),
        witness=Witness(row["witness"]),
        seen_at=row["seen_at"],
        body=None if digest is None else decoded[row["kind"], digest],
        failure=row["failure"],
        failure_class=row["failure_class"],
        digest=digest,
        gaps=() if row["gaps"] == "[]" else from_bytes(tuple[Gap, ...], row["gaps"]),
    )


async def _paused(connection: Transaction, heads: Mapping[str, rows.Columns]) -> set[Subject]:
    """Paused: the last word on the subject, its rack or the site is `pause`. Each is resumed by itself."""
    sites = [row.subject for row in await connection.execute(SITES)]
    asked = {*heads, *(_rack_of(row) for row in heads.values()), *sites}
    last: dict[tuple[str, str], int] = {
        (row.subject, row.kind): row.last for row in await connection.execute(PAUSES, {"subjects": sorted(asked)})
    }
    held = {name for name in asked if last.get((name, "pause"), 0) > last.get((name, "resume"), 0)}
    everything = any(site in held for site in sites)
    return {Subject(name) for name, row in heads.items() if everything or name in held or _rack_of(row) in held}


def _rack_of(row: rows.Columns) -> str:
    return f"rack:{row['shard']}"
