"""Witnesses (c2sp.org/tlog-witness, the bytes of `add-checkpoint`): somebody else remembers how far a log has come, and signs that.

A witness cosigns a checkpoint only if it goes on from the last one that it cosigned for that log. So a log that shows one history here and
another there needs every witness's help. The file is carried by hand or by any transport; nothing here talks to anybody.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metalwright.evidence.canonical import from_base64, read_number, to_base64
from metalwright.evidence.checkpoint import Head, read_checkpoint
from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import Tree
from metalwright.evidence.notes import NoteKey, cosign_note, open_note, split_note
from metalwright.evidence.proofs import consistency_proof, is_consistent
from metalwright.evidence.trust import Trust
from metalwright.model.ids import Instant

MAX_REQUEST_BYTES = 256 << 10
MAX_PROOF_LINES = 63
WHERE = "request"


@dataclass(frozen=True, slots=True, kw_only=True)
class CosignRequest:
    """`old_size`: of the checkpoint that the witness cosigned last, 0 for none; `proof`: consistency from there to the note."""

    old_size: int
    proof: tuple[bytes, ...]
    note: str


def cosign_request(tree: Tree, old_size: int, note: str) -> str:
    """What a log sends to a witness. `tree`: of the log, at least as large as the note's checkpoint, which is at least `old_size`."""
    size = read_checkpoint(split_note(note, WHERE)[0], WHERE).size
    proof = consistency_proof(tree.node, old_size, size) if old_size else []
    return "\n".join([f"old {old_size}", *(to_base64(step) for step in proof)]) + f"\n\n{note}"


def read_request(text: str) -> CosignRequest:
    """Refused for anything else."""
    if len(text) > MAX_REQUEST_BYTES:
        raise Refused(WHERE, f"larger than {MAX_REQUEST_BYTES} characters")
    body, blank, note = text.partition("\n\n")
    first, *lines = body.split("\n")
    word, _, size = first.partition(" ")
    if not blank or word != "old" or len(lines) > MAX_PROOF_LINES:
        raise Refused(WHERE, "not a request for a cosignature")
    return CosignRequest(old_size=read_number(size, WHERE), proof=tuple(from_base64(line, WHERE) for line in lines), note=note)


def cosign(
    request: CosignRequest, *, known: Head | None, log: Trust, witness: NoteKey, now: Instant, sign: Callable[[bytes], bytes]
) -> tuple[str, Head]:
    """(signature line, head to remember before the line is given away). `known`: what this witness cosigned last for this log.

    Refused when the checkpoint is not the log's, or does not go on from `known`: then the request is proof of misbehaviour; keep it.
    """
    text = open_note(request.note, log.note_keys(_size(request.note))[:1], "checkpoint").text
    head = read_checkpoint(text)
    if head.origin != log.origin:
        raise Refused("checkpoint", f"of log {head.origin[:80]!r}")
    before = known or Head(origin=log.origin, size=0, root=b"")
    if request.old_size != before.size:
        raise Refused(WHERE, f"it begins at {request.old_size}; this witness knows {before.size} records")
    if head.size < before.size or not is_consistent(before.size, before.root, head.size, head.root, request.proof):
        raise Refused(WHERE, f"the checkpoint of {head.size} records does not go on from the {before.size} that this witness knows")
    cosigned = cosign_note(request.note, witness, int(now), sign)
    return cosigned[len(request.note) :], head


def add_cosignatures(note: str, lines: Sequence[str], trust: Trust) -> str:
    """The note with the lines of trusted witnesses, in the trust file's order. Refused for a line of anybody else, or a wrong one."""
    text, signatures = split_note(note, "checkpoint")
    keys = trust.note_keys(read_checkpoint(text).size)
    whole = "".join([note, *lines])
    opened = open_note(whole, keys, "checkpoint")
    if opened.unknown or len({signed.by for signed in opened.signed}) != len(signatures) + len(lines):
        raise Refused("checkpoint", "a cosignature of a witness that the trust file does not name, or one twice")
    body, _, bottom = whole.rpartition("\n\n")
    order = {key.id: at for at, key in enumerate(keys)}
    sorted_lines = sorted(
        bottom.splitlines(keepends=True), key=lambda line: order[from_base64(line.split(" ")[2].strip(), "checkpoint")[:4]]
    )
    return f"{body}\n\n{''.join(sorted_lines)}"


def _size(note: str) -> int:
    return read_checkpoint(split_note(note, "checkpoint")[0]).size
