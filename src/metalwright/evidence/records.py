"""Log entries for people and for proof: opened records, and proofs of single records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.evidence.canonical import from_base64, read_json, read_number, to_base64
from metalwright.evidence.checkpoint import Head, read_checkpoint
from metalwright.evidence.envelope import open_envelope, peek_payload
from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import Tree, leaf_hash
from metalwright.evidence.notes import open_note
from metalwright.evidence.proofs import inclusion_proof, root_from_inclusion
from metalwright.evidence.statement import Statement, read_statement
from metalwright.evidence.trust import Trust
from metalwright.model.evidence import Checkpoint, LogEntry
from metalwright.model.ids import Instant, Subject

PROOF_FIRST_LINE = "c2sp.org/tlog-proof@v1"
MAX_PROOF_BYTES = 24 << 20
MAX_PROOF_HASHES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One log entry, opened. `says`: its point in a few words. `statement`: the whole of it, as signed."""

    index: int
    kind: str
    about: Subject
    says: str
    logged_at: Instant
    statement: Mapping[str, Any]


def open_record(entry: LogEntry) -> Record:
    """What an entry of our own database says. Refused when it is no record of a log."""
    where = f"record {entry.index}"
    payload = peek_payload(entry.envelope)
    statement = read_statement(payload, where)
    return Record(
        index=statement.place.index,
        kind=statement.kind,
        about=statement.place.about,
        says=in_words(statement),
        logged_at=statement.place.time_ms / 1000,
        statement=read_json(payload, where),
    )


def in_words(statement: Statement) -> str:
    """The point of a record; empty for a kind that this version does not know."""
    predicate = statement.predicate
    if statement.kind == "gate":
        return f"gate {predicate.get('gate')} {predicate.get('verdict')}"
    if statement.kind == "waiver":
        return f"{predicate.get('check')} waived by {predicate.get('by')}: {predicate.get('reason')}"
    if statement.kind == "approval":
        return f"{predicate.get('approves')} approved by {predicate.get('by')} as {predicate.get('as')}: {predicate.get('reason')}"
    if statement.kind == "work":
        if "by" in predicate:
            return f"{predicate.get('step')} of work order {predicate.get('work_order')} {predicate.get('state')}, by {predicate.get('by')}"
        steps = predicate.get("steps")
        done = [str(step.get("step")) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
        return f"work order {predicate.get('work_order')} done: {', '.join(done)}"
    return ""


def proof_text(entry: LogEntry, tree: Tree, checkpoint: Checkpoint) -> str:
    """A record that verifies alone (c2sp.org/tlog-proof): its envelope as extra data, its audit path, the checkpoint.

    `tree`: of the log, at least as large as the checkpoint.
    """
    path = inclusion_proof(tree.node, entry.index, checkpoint.size)
    lines = [PROOF_FIRST_LINE, f"extra {to_base64(entry.envelope)}", f"index {entry.index}", *(to_base64(step) for step in path)]
    return "\n".join(lines) + f"\n\n{checkpoint.note}"


def verify_proof(text: str, trust: Trust) -> tuple[Statement, Head]:
    """The statement that a proof proves, and the log's head that it is in; Refused for anything else."""
    where = "proof"
    if len(text) > MAX_PROOF_BYTES:
        raise Refused(where, f"larger than {MAX_PROOF_BYTES} characters")
    body, blank, note = text.partition("\n\n")
    first, *lines = body.split("\n")
    if not blank or first != PROOF_FIRST_LINE or not 2 <= len(lines) <= MAX_PROOF_HASHES + 2:
        raise Refused(where, "not a proof of a transparency log")
    envelope, index = from_base64(_value(lines[0], "extra"), where), read_number(_value(lines[1], "index"), where)
    head = _head(note, trust)
    root = root_from_inclusion(leaf_hash(envelope), index, head.size, [from_base64(line, where) for line in lines[2:]], where)
    if root != head.root:
        raise Refused(where, "it does not lead to the checkpoint: record, index or proof was changed")
    statement = read_statement(open_envelope(envelope, trust.log_key(index), where), where)
    if (statement.place.origin, statement.place.index, statement.simulated) != (trust.origin, index, trust.simulated):
        raise Refused(where, "the record was signed for another place")
    return statement, head


def _head(note: str, trust: Trust) -> Head:
    """The head of a checkpoint that the log itself signed, and enough witnesses."""
    found = read_checkpoint(note.rpartition("\n\n")[0] + "\n")
    opened = open_note(note, trust.note_keys(found.size), "checkpoint")
    signers = {signed.by for signed in opened.signed}
    if trust.note_keys(found.size)[0] not in signers or len(signers) - 1 < trust.witness_threshold:
        raise Refused("checkpoint", "not signed by the log and enough of its witnesses")
    if found.origin != trust.origin:
        raise Refused("checkpoint", f"of log {found.origin[:80]!r}")
    return found


def _value(line: str, word: str) -> str:
    found, _, value = line.partition(" ")
    if found != word:
        raise Refused("proof", f"`{word}` is expected, found {found[:20]!r}")
    return value
