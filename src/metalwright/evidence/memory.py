"""What a log key signed last, as the text of a file outside the database.

    metalwright log memory v1
    origin <origin>
    before <size> <time_ms> <right edge: hashes in hex, or ->      the log before the newest batch
    record <envelope>                                              that batch, exact bytes, a line each
    checkpoint <base64 of its signed note>
    digest <sha256 hex of every byte before this line>

The newest batch is kept whole, so that it can be put into the database again after a crash.
"""

import hashlib

from metalwright.evidence.canonical import from_base64, read_number, to_base64
from metalwright.evidence.checkpoint import read_checkpoint
from metalwright.evidence.envelope import peek_payload
from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import leaf_hash, read_edge
from metalwright.evidence.notes import split_note
from metalwright.evidence.sequence import Batch, LogState, Signer, sign_checkpoint
from metalwright.evidence.statement import entry_of
from metalwright.model.evidence import Checkpoint
from metalwright.model.ids import Digest

FIRST_LINE = b"metalwright log memory v1"


def empty_batch(signer: Signer) -> Batch:
    """The memory of a key that signed the empty log alone."""
    state = LogState()
    return Batch(before=state, after=state, entries=(), checkpoint=sign_checkpoint(state, signer))


def memory_bytes(batch: Batch) -> bytes:
    """The file."""
    before = batch.before
    peaks = ",".join(peak.hex() for peak in before.edge.peaks) or "-"
    lines = [
        FIRST_LINE,
        f"origin {batch.checkpoint.origin}".encode(),
        f"before {before.size} {before.time_ms} {peaks}".encode(),
        *(b"record " + entry.envelope for entry in batch.entries),
        f"checkpoint {to_base64(batch.checkpoint.note.encode())}".encode(),
    ]
    body = b"\n".join(lines) + b"\n"
    return body + f"digest {hashlib.sha256(body).hexdigest()}\n".encode()


def read_memory(data: bytes) -> Batch:
    """Refused for a file that is torn, altered or of another version: the key must then not sign anything."""
    where = "memory of the log key"
    body, mark, digest = data.rpartition(b"digest ")
    if not mark or digest != hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise Refused(where, "torn or altered")
    first, origin, before, *records, note, end = body.split(b"\n")
    if first != FIRST_LINE or end:
        raise Refused(where, "of another version")
    state = _state(before.decode(), where)
    entries = []
    edge, time_ms = state.edge, state.time_ms
    for line in records:
        envelope = line.removeprefix(b"record ")
        entry = entry_of(envelope, peek_payload(envelope), where)
        edge, time_ms = edge.append(leaf_hash(envelope)), round(entry.logged_at * 1000)
        entries.append(entry)
    after = LogState(edge=edge, time_ms=time_ms)
    checkpoint = _checkpoint(note, after, where)
    if origin != b"origin " + checkpoint.origin.encode():
        raise Refused(where, "of another log")
    return Batch(before=state, after=after, entries=tuple(entries), checkpoint=checkpoint)


def _state(line: str, where: str) -> LogState:
    word, size, time_ms, peaks = line.split(" ")
    hashes = [] if peaks == "-" else [bytes.fromhex(peak) for peak in peaks.split(",")]
    if word != "before":
        raise Refused(where, "of another version")
    return LogState(edge=read_edge(read_number(size, where), hashes, where), time_ms=read_number(time_ms, where))


def _checkpoint(line: bytes, after: LogState, where: str) -> Checkpoint:
    note = from_base64(line.removeprefix(b"checkpoint ").decode(), where).decode()
    head = read_checkpoint(split_note(note, where)[0], where)
    if (head.size, head.root) != (after.size, after.root):
        raise Refused(where, "its checkpoint is not that of its records")
    root = Digest("sha256:" + head.root.hex())
    return Checkpoint(origin=head.origin, size=head.size, root=root, note=note, made_at=after.time_ms / 1000)
