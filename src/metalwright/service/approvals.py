"""What approvals count for: whom a record or a spec needs, and whether a paper that was filed is one by such a person.

Who may: a record of validate or operate by who may declare the cluster live, one of retire by who owns the data, anything else (and a
weaker spec) by who may waive. Nobody approves what they did, or waived, themselves.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metalwright.evidence.approvals import KIND, Approval, read_approval, verify_approval
from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import Authority, namespace_of, paper_digest
from metalwright.evidence.records import Record, open_record
from metalwright.evidence.sshsig import verify_ssh_signature
from metalwright.gates.weakenings import weakenings
from metalwright.model.errors import InputError
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Digest, Instant, Subject
from metalwright.model.spec import Role, StoredSpec
from metalwright.ports import Store
from metalwright.service.people import APPROVE, Filed, authority_of, filed_in
from metalwright.service.trusting import trust_in_force

PAGE = 1000
ROLE_OF_PHASE = {"validate": Role.DECLARE_LIVE, "operate": Role.DECLARE_LIVE, "retire": Role.OWN_DATA}


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvable:
    """What is approved: its digest, who may, and who may not because they did it."""

    what: str
    digest: Digest
    role: Role
    executors: frozenset[str]
    about: Subject


async def check_adoption(folder: Path, store: Store, new: StoredSpec, now: Instant) -> None:
    """InputError for a spec that asks for less than the one in force, unless somebody who may has approved exactly this one."""
    old = await store.current_spec()
    loosened = weakenings(old, new) if old is not None and old.digest != new.digest else ()
    if old is None or not loosened:
        return
    problem = await _why_not_approved(folder, store, old, new, now)
    if problem is not None:
        raise InputError(
            f"the spec asks for less than the one in force: {'; '.join(loosened)}{problem}",
            hint="metalwright approve spec --reason … --key …, by somebody with the role waive; or take the change back",
        )


async def statements(folder: Path, store: Store, spec: StoredSpec, filed: Sequence[Filed], now: Instant) -> AsyncIterator[PendingStatement]:
    """A record per approval that counts; each is logged once, by its key."""
    for each in filed:
        try:
            paper, trust = read_approval(each.paper), trust_in_force(folder)
            meant = of_spec(spec, spec) if paper.what == "spec" else await of_record(store, paper.what.removeprefix("record "))
            found = verified(each.paper, each.signature, authority_of(folder, spec, trust), meant, log=trust.origin, at=each.at)
        except (Refused, InputError):
            continue  # said when it was filed; here it only counts for nothing
        predicate = {
            "approves": found.what,
            "digest": str(found.digest),
            "as": str(found.role),
            "by": found.by,
            "reason": found.reason,
            "until_ms": round(found.until * 1000),
            "signed_with": verify_ssh_signature(each.paper, each.signature, namespace_of(KIND)).key.fingerprint,
            "paper": each.paper.decode(),
            "signature": each.signature.decode(),
        }
        subjects = ((str(meant.about), str(found.digest).removeprefix("sha256:")),)
        yield PendingStatement(
            key=f"approval/{found.paper}", kind="approval", subjects=subjects, predicate=predicate, made_at=now, about=meant.about
        )


async def _why_not_approved(folder: Path, store: Store, old: StoredSpec, new: StoredSpec, now: Instant) -> str | None:
    """None when an approval of this spec counts; else why the last one that was filed for it does not."""
    meant, problem = of_spec(new, old), ""
    for request in await store.asked(0):
        filed = filed_in(request) if request.kind == APPROVE else None
        if filed is None:
            continue
        try:
            paper = read_approval(filed.paper)
            if (paper.what, paper.digest) != (meant.what, meant.digest) or now >= paper.until:
                continue
            trust = trust_in_force(folder)
            verified(filed.paper, filed.signature, authority_of(folder, old, trust), meant, log=trust.origin, at=filed.at)
            return None
        except Refused as refused:
            problem = f" ({refused})"
    return problem


def verified(paper: bytes, signature: bytes, authority: Authority, meant: Approvable, *, log: str, at: Instant) -> Approval:
    approval = verify_approval(paper, signature, authority, log=log, role=meant.role, executors=meant.executors, at=at)
    if (approval.what, approval.digest) != (meant.what, meant.digest):
        raise Refused(KIND, f"of {approval.what} as it was, not as it is")
    return approval


def of_spec(new: StoredSpec, old: StoredSpec) -> Approvable:
    """Roles are those of the spec in force: a spec cannot name its own approver."""
    return Approvable(
        what="spec",
        digest=Digest(new.digest),
        role=Role.WAIVE,
        executors=frozenset(old.spec.responsible.get(Role.EXECUTE, ())),
        about=Subject(f"site:{old.spec.site.name}"),
    )


async def of_record(store: Store, number: str) -> Approvable:
    size = await store.size()
    if not number.isdecimal() or len(number) > 12 or int(number) >= size:
        raise InputError(f"the log has {size} records, counted from 0", hint="metalwright evidence list SITE; or `spec`")
    (entry,) = await store.entries(int(number), int(number) + 1)
    record = open_record(entry)
    return Approvable(
        what=f"record {number}",
        digest=paper_digest(entry.envelope),
        role=ROLE_OF_PHASE.get(str(record.statement["predicate"].get("phase")), Role.WAIVE),
        executors=frozenset(await _hands(store, record, size)),
        about=Subject(str(record.about).partition("/")[0]),
    )


async def _hands(store: Store, approved: Record, size: int) -> set[str]:
    """Who did or waived something about the same machine, up to now; for a record of the site, about any."""
    found: set[str] = set()
    for start in range(0, size, PAGE):
        for entry in await store.entries(start, min(start + PAGE, size)):
            record = open_record(entry)
            if record.kind not in ("work", "waiver"):
                continue
            if approved.about.startswith("site:") or _machine(record.about) == _machine(approved.about):
                found |= _people(record.statement["predicate"])
    return found


def _machine(subject: Subject) -> str:
    return subject.partition("/")[0]


def _people(predicate: Mapping[str, Any]) -> set[str]:
    steps = predicate.get("steps")
    said = [predicate, *(steps if isinstance(steps, list) else [])]
    return {str(each["by"]) for each in said if isinstance(each, dict) and "by" in each}
