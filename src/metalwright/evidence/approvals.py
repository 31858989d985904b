"""Approvals: a person in a role agrees to one record of the log (a plan, an acceptance, a retirement), or to a changed spec.

An approval binds the exact bytes of what is approved by digest. Whoever did the work cannot approve it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import Authority, check_role, paper_digest, read_paper, read_time, verify_paper, write_paper, write_time
from metalwright.model.ids import Digest, Instant
from metalwright.model.spec import Role

KIND = "approval"
FIELDS = ("log", "what", "digest", "as", "from", "until", "by", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPaper:
    """What an approval says. `what`: `record 17`, `spec`, `order 14`; `digest`: of its exact bytes."""

    log: str
    what: str
    digest: Digest
    role: Role
    starts_at: Instant
    until: Instant
    by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A verified approval. `digest`: of what is approved; `paper`: of the paper."""

    what: str
    digest: Digest
    role: Role
    by: str
    until: Instant
    reason: str
    paper: Digest


def approval_bytes(paper: ApprovalPaper) -> bytes:
    """The text to sign with `ssh-keygen -Y sign -n metalwright-approval`. Refused when it would not read back."""
    values = (
        paper.log,
        paper.what,
        str(paper.digest),
        str(paper.role),
        write_time(paper.starts_at),
        write_time(paper.until),
        paper.by,
        paper.reason,
    )
    data = write_paper(KIND, list(zip(FIELDS, values, strict=True)))
    read_approval(data)
    return data


def read_approval(data: bytes) -> ApprovalPaper:
    """What it says, nothing verified; Refused when it is malformed."""
    found = read_paper(data, KIND, FIELDS)
    if found["as"] not in set(Role):
        raise Refused(KIND, f"role {found['as'][:30]!r}: one of {', '.join(Role)} is expected")
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", found["digest"]):
        raise Refused(KIND, "`digest` is the sha256 of what is approved")
    paper = ApprovalPaper(
        log=found["log"],
        what=found["what"],
        digest=Digest(found["digest"]),
        role=Role(found["as"]),
        starts_at=read_time(found["from"], KIND),
        until=read_time(found["until"], KIND),
        by=found["by"],
        reason=found["reason"],
    )
    if paper.until <= paper.starts_at:
        raise Refused(KIND, "`until` must be after `from`")
    return paper


def verify_approval(
    data: bytes, signature: bytes, authority: Authority, *, log: str, role: Role, executors: Collection[str], at: Instant
) -> Approval:
    """The approval, if somebody with this role signed it for this log, and is none of those who did the work; Refused otherwise."""
    paper = read_approval(data)
    if paper.log != log:
        raise Refused(KIND, f"for log {paper.log[:80]!r}, this site's is {log!r}")
    if paper.role is not role:
        raise Refused(KIND, f"given as {paper.role}, {role} is needed")
    check_role(KIND, paper.by, role, authority)
    if paper.by in executors:
        raise Refused(KIND, f"{paper.by} did the work, and cannot approve it")
    verify_paper(data, signature, KIND, by=paper.by, authority=authority, at=at)
    if not paper.starts_at <= at < paper.until:
        raise Refused(KIND, "not in force at that time")
    return Approval(
        what=paper.what,
        digest=paper.digest,
        role=role,
        by=paper.by,
        until=paper.until,
        reason=paper.reason,
        paper=paper_digest(data),
    )
