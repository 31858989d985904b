"""Everything a turn needs about a batch of subjects: a fixed number of statements, whatever the size of the batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select
from sqlalchemy.sql import Select

from metalwright.model.ids import Subject
from metalwright.model.observation import Body
from metalwright.ports import SITE_SHARD
from metalwright.store.remembered import Remembered
from metalwright.store.statements import AnyOf
from metalwright.store.tables import bodies, grants, operations, orders, permits, requests, runs, seen, subjects, verdicts

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Rows as the database gave them, of one moment. They become nouns outside the transaction: parsing inventories takes longer."""

    wanted: Sequence[Subject]
    heads: dict[str, RowMapping]
    looks: Sequence[RowMapping]
    decoded: dict[tuple[str, str], Body]
    """By (kind, digest): bodies that are in memory."""
    bodies: dict[str, bytes]
    """By digest: those that are not."""
    runs: Sequence[RowMapping]
    operations: Sequence[RowMapping]
    grants: Sequence[RowMapping]
    rounds: Sequence[Any]
    marks: Sequence[Any]
    paused: set[str]


def fetch_nodes(connection: Connection, wanted: Sequence[Subject], remembered: Remembered) -> Fetched:
    """The rows of those of the subjects that exist, and the bodies that are not in memory."""
    batch = {"subjects": list(wanted)}
    heads = {row["subject"]: row for row in connection.execute(SUBJECTS, batch).mappings()}
    looks = connection.execute(SEEN, batch).mappings().all()
    keys = {(row["kind"], row["digest"]) for row in looks if row["digest"] is not None}
    decoded = {key: body for key in keys if (body := remembered.bodies.get(key)) is not None}
    digests = sorted({digest for _, digest in keys - decoded.keys()})
    return Fetched(
        wanted=wanted,
        heads=heads,
        looks=looks,
        decoded=decoded,
        bodies={row.digest: row.body for row in connection.execute(BODIES, {"digests": digests})} if digests else {},
        runs=connection.execute(RUNS, batch).mappings().all(),
        operations=connection.execute(OPERATIONS, batch).mappings().all(),
        grants=connection.execute(GRANTS, batch).mappings().all(),
        rounds=connection.execute(ROUNDS, batch).all(),
        marks=connection.execute(MARKS, batch).all(),
        paused=_paused(connection, heads),
    )


def _paused(connection: Connection, heads: dict[str, RowMapping]) -> set[str]:
    """Paused: the last word on the subject, its rack or the site is `pause`. Each is resumed by itself."""
    sites = [row.subject for row in connection.execute(SITES)]
    asked = {*heads, *(_rack_of(row) for row in heads.values()), *sites}
    last: dict[tuple[str, str], int] = {
        (row.subject, row.kind): row.last for row in connection.execute(PAUSES, {"subjects": sorted(asked)})
    }
    held = {name for name in asked if last.get((name, "pause"), 0) > last.get((name, "resume"), 0)}
    everything = any(site in held for site in sites)
    return {name for name, row in heads.items() if everything or name in held or _rack_of(row) in held}


def _rack_of(row: RowMapping) -> str:
    return f"rack:{row['shard']}"
