"""in-toto statements v1 (github.com/in-toto/attestation, spec/v1): what a record says.

    subject         one entry per machine or part: `node:<serial>`, sha256 of its identity document
    predicateType   urn:metalwright:<kind>:v1
    predicate       what the turn said, and three things that only the log says:
                    simulated   from the log's key, never from the caller
                    made_at_ms  when the turn said it
                    log         its place: origin, index, time_ms (never decreasing), once-only key, about

Times are integers of milliseconds since 1970 UTC. No number has a point: a float has no one spelling.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.evidence.canonical import MAX_DEPTH, MAX_JSON_BYTES, compact, depth_of, read_json
from metalwright.evidence.errors import Refused
from metalwright.model.errors import InvariantError
from metalwright.model.evidence import LogEntry, PendingStatement
from metalwright.model.ids import Subject

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MAX_STATEMENT_BYTES = MAX_JSON_BYTES // 2
_PREDICATE_TYPE = re.compile(r"urn:metalwright:([a-z][a-z0-9-]{0,62}):v1")
_SHA256 = re.compile(r"[0-9a-f]{64}")
OURS = ("simulated", "made_at_ms", "log")
"""Keys of the predicate that the log writes; a caller's are written over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A record's place in its log."""

    origin: str
    index: int
    time_ms: int
    key: str
    about: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement read back from received bytes. `subjects`: (name, sha256 hex)."""

    kind: str
    subjects: tuple[tuple[str, str], ...]
    predicate: Mapping[str, Any]
    simulated: bool
    place: Place


def statement_bytes(pending: PendingStatement, place: Place, *, simulated: bool) -> bytes:
    """The JSON of one record. InvariantError for a float anywhere, or for what no reader would accept."""
    ours = {
        "simulated": simulated,
        "made_at_ms": milliseconds(pending.made_at),
        "log": {"origin": place.origin, "index": place.index, "time_ms": place.time_ms, "key": place.key, "about": place.about},
    }
    predicate = {**{key: value for key, value in pending.predicate.items() if key not in OURS}, **ours}
    _check_shape(pending)
    written = compact(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in pending.subjects],
            "predicateType": f"urn:metalwright:{pending.kind}:v1",
            "predicate": predicate,
        }
    )
    _check_size(written, pending.key)
    return written


def check_pending(pending: PendingStatement) -> None:
    """InvariantError for a statement that could never be logged. Whoever makes statements calls this where the mistake can be seen."""
    _check_shape(pending)
    _check_size(compact(dict(pending.predicate)), pending.key)


def read_statement(payload: bytes, where: str) -> Statement:
    """A statement of this log's shape; Refused otherwise. Unknown fields of the predicate are kept and ignored."""
    found = read_json(payload, where)
    try:
        kind = _PREDICATE_TYPE.fullmatch(found["predicateType"])
        subjects = tuple((_text(entry["name"]), _text(entry["digest"]["sha256"])) for entry in found["subject"])
        predicate, log = found["predicate"], found["predicate"]["log"]
        place = Place(
            origin=_text(log["origin"]),
            index=_count(log["index"]),
            time_ms=_count(log["time_ms"]),
            key=_text(log["key"]),
            about=Subject(_text(log["about"])),
        )
        simulated = predicate["simulated"]
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(where, "not a statement of a metalwright log") from error
    if found.get("_type") != STATEMENT_TYPE or kind is None or not isinstance(simulated, bool):
        raise Refused(where, "not a statement of a metalwright log")
    if not subjects or not all(_SHA256.fullmatch(digest) for _, digest in subjects):
        raise Refused(where, "a subject without a sha256 digest")
    return Statement(kind=kind[1], subjects=subjects, predicate=predicate, simulated=simulated, place=place)


def entry_of(envelope: bytes, payload: bytes, where: str) -> LogEntry:
    """The log entry that an envelope's own words make: nothing beside it needs to be believed."""
    statement = read_statement(payload, where)
    place = statement.place
    return LogEntry(
        index=place.index, key=place.key, kind=statement.kind, about=place.about, envelope=envelope, logged_at=place.time_ms / 1000
    )


def milliseconds(instant: float) -> int:
    """Seconds → whole milliseconds."""
    return round(instant * 1000)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError
    return value


def _refuse_floats(value: Any, where: str) -> None:
    if isinstance(value, float):
        raise InvariantError(f"{where}: the float {value}", hint="use an integer with a unit in its name, or a text")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_floats(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            _refuse_floats(inner, f"{where}[{number}]")


def _check_shape(pending: PendingStatement) -> None:
    where = f"statement {pending.key}"
    if not _PREDICATE_TYPE.fullmatch(f"urn:metalwright:{pending.kind}:v1"):
        raise InvariantError(f"{where}: {pending.kind!r} is not a kind", hint="lower-case letters, digits and hyphens")
    if not pending.subjects or any(not name or not _SHA256.fullmatch(digest) for name, digest in pending.subjects):
        raise InvariantError(f"{where}: every subject needs a name and a sha256 in hex")
    if depth_of(pending.predicate) > MAX_DEPTH - 4:
        raise InvariantError(f"{where}: nested too deeply")
    _refuse_floats(pending.predicate, where)


def _check_size(written: bytes, key: str) -> None:
    if len(written) > MAX_STATEMENT_BYTES:
        hint = "one finding per check, with a count and exceptions"
        raise InvariantError(f"statement {key}: larger than {MAX_STATEMENT_BYTES} bytes", hint=hint)
