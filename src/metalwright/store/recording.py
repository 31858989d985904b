"""Observations → rows: the last look in a narrow row, its body by the digest of its bytes, and a wake for its subject."""

from collections.abc import Mapping, Sequence

from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, bindparam, delete, exists, select, update

from metalwright.codec.json_codec import digest_of, to_bytes
from metalwright.model.hardware import Gap
from metalwright.model.ids import Digest, Instant, Subject
from metalwright.model.observation import Observation
from metalwright.store import rows
from metalwright.store.statements import AnyOf, Least, insert_or_overwrite
from metalwright.store.tables import bodies, citations, seen, subjects

Encoded = tuple[Observation, Digest | None, bytes]

CURRENT = select(seen.c.subject, seen.c.kind, seen.c.witness, seen.c.digest).where(AnyOf(seen.c.subject, "subjects"))
WAKE = (
    update(subjects)
    .where(subjects.c.subject == bindparam("b_subject"))
    .values(next_due_at=Least(subjects.c.next_due_at, bindparam("b_at")), wakes=subjects.c.wakes + 1)
)

SEEN_KEY = ("subject", "kind", "witness")
SEEN_TAKEN = ("seen_at", "digest", "failure", "failure_class", "gaps")

UNUSED_KEPT_S = 3600.0
"""A turn may still cite a body that was replaced after the turn read it; no turn lasts an hour."""


def record_observations(connection: Connection, encoded: Sequence[Encoded]) -> None:
    """Newer looks replace older ones; a body is written only when its digest is not the one already current."""
    wanted = sorted({look.subject for look, _, _ in encoded})
    current = {(row.subject, row.kind, row.witness): row.digest for row in connection.execute(CURRENT, {"subjects": wanted})}
    _write_bodies(connection, encoded, current)
    looks = [_seen_values(look, digest) for look, digest, _ in encoded]
    looks.sort(key=lambda row: (row["subject"], row["kind"], row["witness"], row["seen_at"]))
    connection.execute(insert_or_overwrite(connection.dialect.name, seen, SEEN_KEY, SEEN_TAKEN, newest="seen_at"), looks)
    at: dict[Subject, Instant] = {}
    for look, _, _ in encoded:
        at[look.subject] = max(look.seen_at, at.get(look.subject, 0.0))
    connection.execute(WAKE, [{"b_subject": subject, "b_at": at[subject]} for subject in wanted])


def _write_bodies(connection: Connection, encoded: Sequence[Encoded], current: Mapping[tuple[str, str, str], str | None]) -> None:
    new = {
        digest: body
        for look, digest, body in encoded
        if digest is not None and current.get((look.subject, look.kind.value, look.witness.value)) != digest
    }
    if new:
        values = [{"digest": digest, "body": body, "unused_since": None} for digest, body in sorted(new.items())]
        connection.execute(insert_or_overwrite(connection.dialect.name, bodies, ("digest",), ("unused_since",)), values)


def encode(looks: Sequence[Observation]) -> list[Encoded]:
    """Each look with its body's digest and bytes. What cannot be written as UTF-8 JSON is malformed, whoever sent it: no body."""
    return [_encoded(look) for look in looks]


def _encoded(look: Observation) -> Encoded:
    if look.body is None:
        return look, None, b""
    try:
        body = to_bytes(look.body)
    except (PydanticSerializationError, ValueError) as error:
        return _malformed(look, error), None, b""
    return look, digest_of(body), body


def _malformed(look: Observation, error: Exception) -> Observation:
    return Observation(
        subject=look.subject,
        kind=look.kind,
        witness=look.witness,
        seen_at=look.seen_at,
        body=None,
        failure=f"what was read cannot be stored: {error}"[:500],
        failure_class="malformed",
    )


def _seen_values(look: Observation, digest: Digest | None) -> rows.Values:
    return {
        "subject": look.subject,
        "kind": look.kind.value,
        "witness": look.witness.value,
        "seen_at": look.seen_at,
        "digest": digest,
        "failure": look.failure,
        "failure_class": look.failure_class,
        "gaps": rows.text_of(look.gaps, tuple[Gap, ...]) if look.gaps else "[]",
    }


# -- bodies that nobody needs any more ---------------------------------------------------------------------------------------

_IS_CURRENT = exists().where(seen.c.digest == bodies.c.digest)
_IS_CITED = exists().where(citations.c.digest == bodies.c.digest)
USED_AGAIN = update(bodies).where(bodies.c.unused_since.is_not(None), _IS_CURRENT).values(unused_since=None)
UNUSED = update(bodies).where(bodies.c.unused_since.is_(None), ~_IS_CURRENT, ~_IS_CITED).values(unused_since=bindparam("now"))
FORGET = delete(bodies).where(bodies.c.unused_since < bindparam("before"), ~_IS_CURRENT, ~_IS_CITED)


def forget_unused(connection: Connection, now: Instant) -> int:
    """Delete bodies that for an hour were neither the last look of anything nor cited by a verdict; returns how many."""
    connection.execute(USED_AGAIN)
    connection.execute(UNUSED, {"now": now})
    return (connection.execute(FORGET, {"before": now - UNUSED_KEPT_S})).rowcount
