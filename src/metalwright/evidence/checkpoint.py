"""Checkpoints (c2sp.org/tlog-checkpoint): origin, size and root of a log, as the text of a signed note."""

from dataclasses import dataclass

from metalwright.evidence.canonical import from_base64, read_number, to_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import EMPTY_ROOT, HASH_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A tree head: who, how many, which tree."""

    origin: str
    size: int
    root: bytes


def checkpoint_text(head: Head) -> str:
    """The text that is signed: three lines, no extension lines (they are not recommended, and nothing may be ignorable)."""
    return f"{head.origin}\n{head.size}\n{to_base64(head.root)}\n"


def read_checkpoint(text: str, where: str = "checkpoint") -> Head:
    """The head that a text says, in exactly the spelling of `checkpoint_text`."""
    lines = text.split("\n")
    if len(lines) != 4 or not lines[0] or lines[3]:
        raise Refused(where, "not the three lines of a checkpoint")
    head = Head(origin=lines[0], size=read_number(lines[1], where), root=from_base64(lines[2], where))
    if len(head.root) != HASH_BYTES or (head.size == 0 and head.root != EMPTY_ROOT):
        raise Refused(where, "its root is none")
    return head
