"""Fetched rows → the nouns of a turn. No database here: this may take seconds when a thousand inventories must be parsed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from sqlalchemy import RowMapping

from metalwright.codec.json_codec import from_bytes
from metalwright.model.errors import InvariantError
from metalwright.model.hardware import Gap
from metalwright.model.ids import Digest, Subject
from metalwright.model.judgement import Colour, Gate
from metalwright.model.observation import BODY_OF, Body, Kind, Observation, Witness
from metalwright.ports import NodeRows, VerdictMark
from metalwright.store import rows
from metalwright.store.loading import Fetched
from metalwright.store.remembered import Remembered

V = TypeVar("V")


def assemble(fetched: Fetched, remembered: Remembered) -> list[NodeRows]:
    """In the order asked for. InvariantError when something stored does not read back."""
    looks = _grouped((row["subject"], _observation(row, fetched, remembered)) for row in fetched.looks)
    runs = _grouped((row["subject"], rows.run_of(row)) for row in fetched.runs)
    operations = _grouped((row["subject"], rows.operation_of(row)) for row in fetched.operations)
    grants = _grouped((row["subject"], rows.grant_of(row)) for row in fetched.grants)
    rounds = _grouped((row.subject, ((Gate(row.goal), Digest(row.wish_digest)), int(row.made))) for row in fetched.rounds)
    marks = _grouped(
        (row.subject, (Gate(row.gate), VerdictMark(digest=Digest(row.digest), colour=Colour(row.colour)))) for row in fetched.marks
    )
    return [
        NodeRows(
            subject=subject,
            observations=tuple(looks[subject]),
            runs=tuple(runs[subject]),
            operations=tuple(operations[subject]),
            order=None if row["number"] is None else rows.order_of(row, remembered.orders),
            grants=tuple(grants[subject]),
            rounds=dict(rounds[subject]),
            verdicts=dict(marks[subject]),
            waiting=rows.waiting_of(row),
            paused=subject in fetched.paused,
            permit=None if row["order_number"] is None else rows.permit_of(row, subject),
            wakes=row["wakes"],
        )
        for subject in fetched.wanted
        if (row := fetched.heads.get(subject)) is not None
    ]


def _grouped(pairs: Iterable[tuple[str, V]]) -> Mapping[str, list[V]]:
    groups: defaultdict[str, list[V]] = defaultdict(list)
    for subject, value in pairs:
        groups[subject].append(value)
    return groups


def _observation(row: RowMapping, fetched: Fetched, remembered: Remembered) -> Observation:
    return Observation(
        subject=Subject(row["subject"]),
        kind=Kind(row["kind"]),
        witness=Witness(row["witness"]),
        seen_at=row["seen_at"],
        body=None if row["digest"] is None else _body(row["kind"], row["digest"], fetched, remembered),
        failure=row["failure"],
        failure_class=row["failure_class"],
        digest=row["digest"],
        gaps=() if row["gaps"] == "[]" else from_bytes(tuple[Gap, ...], row["gaps"]),
    )


def _body(kind: str, digest: str, fetched: Fetched, remembered: Remembered) -> Body:
    key = (kind, digest)
    body = fetched.decoded.get(key) or remembered.bodies.get(key)
    if body is not None:
        return body
    stored = fetched.bodies.get(digest)
    if stored is None:
        raise InvariantError(f"the body of an observation is gone: {digest}", hint="the database was altered")
    return remembered.bodies.put(key, from_bytes(BODY_OF[Kind(kind)], stored), len(stored))
