"""Pending statements → numbered, signed log entries and a checkpoint. Pure, but for the signer's signature."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from metalwright.evidence import notes
from metalwright.evidence.envelope import sign_envelope, statement_bytes
from metalwright.evidence.merkle import RightEdge, leaf_hash
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.model.ids import Digest, Instant


class Signer(Protocol):
    """The log key. `public_key`: 32 bytes of Ed25519; `key_id`: their sha256 as hex."""

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
class Batch:
    """What one round appends."""

    entries: tuple[LogEntry, ...]
    checkpoint: Checkpoint


def sequence(pending: Sequence[PendingStatement], edge: RightEdge, signer: Signer, now: Instant) -> Batch:
    """Number and sign; `edge` is of the log so far and is advanced. Ed25519 is deterministic: the same pending statements, size
    and `now` give the same bytes, so a batch that was signed and not committed can be made again exactly."""
    entries = []
    for statement in pending:
        payload = statement_bytes(statement, simulated=signer.simulated)
        envelope = sign_envelope(payload, signer.key_id, signer.sign)
        entry = LogEntry(index=edge.size, key=statement.key, kind=statement.kind, about=statement.about, envelope=envelope, logged_at=now)
        edge.append(leaf_hash(envelope))
        entries.append(entry)
    root = edge.root()
    text = notes.checkpoint_text(signer.origin, edge.size, root)
    note = notes.signed_note(text, signer.origin, signer.public_key, signer.sign)
    checkpoint = Checkpoint(origin=signer.origin, size=edge.size, root=Digest("sha256:" + root.hex()), note=note, made_at=now)
    return Batch(entries=tuple(entries), checkpoint=checkpoint)
