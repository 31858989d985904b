"""Words of answers: short to write in a check, bounded in what they carry from hostile machines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metalwright.gates.answer import Answer
from metalwright.model.judgement import Result

SHOWN = 4
"""Exceptions written out in a finding; the rest is a count. A reader fixes a few at a time, and a statement stays small."""

LONGEST = 600
"""Characters of any text of a finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One part that breaks the rule: `part` is its subject suffix (`gpu:3`), `name` what people call it."""

    part: str
    name: str
    seen: str


def passed(expected: str, seen: str) -> tuple[Answer, ...]:
    return (Answer(result=Result.PASS, expected=expected, seen=seen),)


def failed(expected: str, seen: str, do: str, part: str = "") -> tuple[Answer, ...]:
    return (Answer(result=Result.FAIL, part=part, expected=expected, seen=seen, do=do),)


def undetermined(reason: str, do: str = "", seen: str = "", expected: str = "") -> tuple[Answer, ...]:
    return (Answer(result=Result.UNDETERMINED, reason=reason, do=do, seen=seen, expected=expected),)


def not_applicable(reason: str) -> tuple[Answer, ...]:
    return (Answer(result=Result.NOT_APPLICABLE, reason=reason),)


def of_parts(faults: Sequence[Fault], *, of: int, expected: str, ok: str, do: str) -> tuple[Answer, ...]:
    """Pass, or one answer: about the part itself when one is at fault, else about the node with a count and examples."""
    if not faults:
        return passed(expected, ok)
    parts = {fault.part for fault in faults}
    texts = [f"{fault.name}: {fault.seen}" for fault in faults]
    if len(parts) == 1:
        return failed(expected, listed(texts), do, part=faults[0].part)
    return failed(expected, f"{len(parts)} of {of} at fault: {listed(texts)}", do)


def listed(texts: Iterable[str], shown: int = SHOWN) -> str:
    """`a; b; c; d; and 3 more`."""
    every = list(texts)
    rest = [f"and {len(every) - shown} more"] if len(every) > shown else []
    return "; ".join(every[:shown] + rest)


def number(count: int, noun: str) -> str:
    """`1 GPU`, `8 GPUs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cleaned(text: str, longest: int = LONGEST) -> str:
    """Printable and bounded: machines and their BMCs choose some of these words."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in text[: longest + 1])
    return printable if len(printable) <= longest else printable[: longest - 1] + "…"
