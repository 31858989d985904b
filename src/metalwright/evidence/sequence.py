"""Pending statements → numbered, signed log entries and a checkpoint. Pure, but for the signer's signature.

The signer remembers, outside the database, what it signed last and the exact records that led there (`Signed`). It is told before the
database commits. After a crash in between, the very same bytes are put in again: nothing is signed a second time, whatever the clock,
the pending statements or the program's version are by then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from metalwright.evidence.checkpoint import Head, checkpoint_text
from metalwright.evidence.envelope import open_envelope, sign_envelope
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey
from metalwright.evidence.merkle import RightEdge, leaf_hash
from metalwright.evidence.notes import ED25519, NoteKey, sign_note
from metalwright.evidence.statement import Place, milliseconds, read_statement, statement_bytes
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.model.ids import Digest, Instant


class Signer(Protocol):
    """The log key. `public_key`: 32 bytes of Ed25519; `key_id`: their sha256 in hex."""

    @property
    def origin(self) -> str: ...
    @property
    def simulated(self) -> bool: ...
    @property
    def key_id(self) -> str: ...
    @property
    def public_key(self) -> bytes: ...
    def sign(self, payload: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """A log as far as appending needs it: its right edge, and the time of its last record."""

    edge: RightEdge = field(default_factory=RightEdge)
    time_ms: int = 0

    @property
    def size(self) -> int:
        return self.edge.size

    @property
    def root(self) -> bytes:
        return self.edge.root()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one round appends. `before` and `after`: the log without and with it."""

    before: LogState
    after: LogState
    entries: tuple[LogEntry, ...]
    checkpoint: Checkpoint


def sequence(pending: Sequence[PendingStatement], state: LogState, signer: Signer, now: Instant) -> Batch:
    """Number and sign. Log time is `now`, or the last record's time where the clock went back."""
    time_ms = max(milliseconds(now), state.time_ms)
    entries = []
    edge = state.edge
    for statement in pending:
        place = Place(origin=signer.origin, index=edge.size, time_ms=time_ms, key=statement.key, about=statement.about)
        payload = statement_bytes(statement, place, simulated=signer.simulated)
        envelope = sign_envelope(payload, signer.key_id, signer.sign)
        edge = edge.append(leaf_hash(envelope))
        entries.append(
            LogEntry(
                index=place.index,
                key=statement.key,
                kind=statement.kind,
                about=statement.about,
                envelope=envelope,
                logged_at=time_ms / 1000,
            )
        )
    after = LogState(edge=edge, time_ms=time_ms if entries else state.time_ms)
    return Batch(before=state, after=after, entries=tuple(entries), checkpoint=sign_checkpoint(after, signer))


def sign_checkpoint(state: LogState, signer: Signer) -> Checkpoint:
    """The signed head of a log."""
    text = checkpoint_text(Head(origin=signer.origin, size=state.size, root=state.root))
    key = NoteKey(name=signer.origin, type=ED25519, key=PublicKey(signer.public_key))
    root = Digest("sha256:" + state.root.hex())
    note = sign_note(text, key, signer.sign)
    return Checkpoint(origin=signer.origin, size=state.size, root=root, note=note, made_at=state.time_ms / 1000)


def follow(state: LogState, entries: Sequence[LogEntry], signer: Signer) -> LogState:
    """The log after these entries, if this key signed every one of them for exactly this place; Refused otherwise."""
    edge, time_ms = state.edge, state.time_ms
    key = PublicKey(signer.public_key)
    for entry in entries:
        where = f"record {edge.size}"
        statement = read_statement(open_envelope(entry.envelope, key, where), where)
        place = statement.place
        if (place.origin, place.index) != (signer.origin, edge.size) or place.time_ms < time_ms:
            raise Refused(where, "signed for another place in the log")
        edge, time_ms = edge.append(leaf_hash(entry.envelope)), place.time_ms
    return LogState(edge=edge, time_ms=time_ms)
