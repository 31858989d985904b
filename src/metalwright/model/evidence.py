"""Nouns of proof: statements, log entries, checkpoints, trust."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.model.ids import Digest, Instant, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingStatement:
    """A statement that a turn made, in the turn's transaction; the sequencer numbers and signs it.

    `key` makes it once-only: `gate/<subject>/<gate>/<digest of content>`; a second insert of the same key is no new record.
    """

    key: str
    kind: str
    """`gate`, `work`, `image`, … → `predicateType` `urn:metalwright:<kind>:v1`."""
    subjects: tuple[tuple[str, str], ...]
    """(name, sha256 hex of the identity document), as in-toto subjects."""
    predicate: Mapping[str, Any]
    """JSON without floats: measurements are integers with a unit in the key, or texts."""
    made_at: Instant
    about: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One record of the log: `index` from 0; `envelope` the DSSE envelope's exact bytes, which are the Merkle leaf."""

    index: int
    key: str
    kind: str
    about: Subject
    envelope: bytes
    logged_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A C2SP signed note over (origin, size, root). `note` is its exact text."""

    origin: str
    size: int
    root: Digest
    note: str
    made_at: Instant
