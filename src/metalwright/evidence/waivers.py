"""Waivers: one check on one subject is not held against it, until a time, for what is seen now.

A waiver binds the log (site), the check and its version, the machine by its identity digest, and what was seen. If any of them changes,
it waives nothing: a new GPU, a stricter check or a worse value needs a new one. Where a measured value moves a little, the signer may
write a range for a number in `seen`: `busbw [405..430] GB/s`. `*` alone waives whatever the check sees.
"""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import Authority, check_role, paper_digest, read_paper, read_time, verify_paper, write_paper, write_time
from metalwright.model.case import Waiver
from metalwright.model.ids import Instant, Subject
from metalwright.model.spec import Role

KIND = "waiver"
FIELDS = ("log", "check", "version", "subject", "identity", "seen", "from", "until", "by", "reason")
MAX_DAYS = 366
_RANGE = re.compile(r"\[(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)\]")
_NUMBER = r"(-?\d+(?:\.\d+)?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverPaper:
    """What a waiver says. `identity`: digest of the subject's identity document; `starts_at`: no earlier; `until`: not any more."""

    log: str
    check: str
    version: int
    subject: Subject
    identity: str
    seen: str
    starts_at: Instant
    until: Instant
    by: str
    reason: str


def waiver_bytes(paper: WaiverPaper) -> bytes:
    """The text to sign with `ssh-keygen -Y sign -n metalwright-waiver`. Refused when it would not read back."""
    values = (
        paper.log,
        paper.check,
        str(paper.version),
        str(paper.subject),
        paper.identity,
        paper.seen,
        write_time(paper.starts_at),
        write_time(paper.until),
        paper.by,
        paper.reason,
    )
    data = write_paper(KIND, list(zip(FIELDS, values, strict=True)))
    read_waiver(data)
    return data


def read_waiver(data: bytes) -> WaiverPaper:
    """What it says, nothing verified; Refused when it is malformed or asks for too much."""
    found = read_paper(data, KIND, FIELDS)
    if not re.fullmatch(r"[1-9]\d{0,5}", found["version"]):
        raise Refused(KIND, "`version` is the number of the check's version")
    paper = WaiverPaper(
        log=found["log"],
        check=found["check"],
        version=int(found["version"]),
        subject=Subject(found["subject"]),
        identity=found["identity"],
        seen=found["seen"],
        starts_at=read_time(found["from"], KIND),
        until=read_time(found["until"], KIND),
        by=found["by"],
        reason=found["reason"],
    )
    if not 0 < paper.until - paper.starts_at <= MAX_DAYS * 86400:
        raise Refused(KIND, f"`until` must be after `from`, by at most {MAX_DAYS} days")
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", paper.identity):
        raise Refused(KIND, "`identity` is the digest of the subject's identity document")
    _pattern(paper.seen)
    return paper


def verify_waiver(data: bytes, signature: bytes, authority: Authority, *, log: str, at: Instant) -> Waiver:
    """The waiver, if somebody who may waive signed it for this log. `at`: when it was logged, or max(clock, log time) for a new one.

    Refused otherwise, with the reason. A good waiver may still be over, or be for another machine: see `waives`.
    """
    paper = read_waiver(data)
    if paper.log != log:
        raise Refused(KIND, f"for log {paper.log[:80]!r}, this site's is {log!r}")
    check_role(KIND, paper.by, Role.WAIVE, authority)
    verify_paper(data, signature, KIND, by=paper.by, authority=authority, at=at)
    if at >= paper.until:
        raise Refused(KIND, "it was over before it was filed")
    return Waiver(
        check=paper.check,
        subject=paper.subject,
        until=paper.until,
        by=paper.by,
        reason=paper.reason,
        version=paper.version,
        identity=paper.identity,
        seen=paper.seen,
        starts_at=paper.starts_at,
        digest=paper_digest(data),
    )


def waives(waiver: Waiver, *, check: str, version: int, subject: Subject, identity: str, seen: str, now: Instant) -> bool:
    """Whether a verified waiver covers this finding at this moment. `now`: max(clock, log time)."""
    return (
        (waiver.check, waiver.version, waiver.subject, waiver.identity) == (check, version, subject, identity)
        and waiver.starts_at <= now < waiver.until
        and is_within(waiver.seen, seen)
    )


def is_within(pattern: str, seen: str) -> bool:
    """Whether what is seen now is what the signer saw: the same text, each `[low..high]` a number from low to high."""
    if pattern == "*":
        return True
    expression, bounds = _pattern(pattern)
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in seen).split())
    found = re.fullmatch(expression, line)
    if found is None:
        return False
    return all(low <= Decimal(number) <= high for number, (low, high) in zip(found.groups(), bounds, strict=True))


def draft_seen(seen: str) -> str:
    """The text of a finding as a waiver can hold it: one line, exactly this. Refused for a text that would mean more than itself."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in seen).split())
    if line in ("", "*") or _RANGE.search(line):
        raise Refused(KIND, f"what was seen ({line[:40]!r}) cannot be waived as it is: write `seen` by hand")
    return line


def _pattern(pattern: str) -> tuple[str, list[tuple[Decimal, Decimal]]]:
    parts = _RANGE.split(pattern)
    expression = "".join(_NUMBER if at % 3 == 1 else re.escape(part) for at, part in enumerate(parts) if at % 3 != 2)
    try:
        bounds = [(Decimal(low), Decimal(high)) for low, high in zip(parts[1::3], parts[2::3], strict=True)]
    except InvalidOperation as error:
        raise Refused(KIND, "`seen`: a range is [low..high]") from error
    if any(low > high for low, high in bounds):
        raise Refused(KIND, "`seen`: a range whose low is above its high")
    return expression, bounds
