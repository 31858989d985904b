"""`metalwright approve`: a person in the right role agrees to one record of the log, or to a spec that asks for less than the one in force.

Who may is said in `service.approvals`.
"""

from dataclasses import dataclass
from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.drivers.signing.ssh_keygen import sign_as_person
from metalwright.evidence.approvals import KIND, Approval, ApprovalPaper, approval_bytes
from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import namespace_of
from metalwright.model.errors import InputError
from metalwright.model.ids import Instant
from metalwright.service.approvals import Approvable, of_record, of_spec, verified
from metalwright.service.clock import SystemClock
from metalwright.service.people import APPROVE, authority_of
from metalwright.service.trusting import trust_in_force
from metalwright.service.waiving import read_until, signer_of
from metalwright.service.wiring import open_reader


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveWish:
    """What was asked for. `what`: the number of a record, or `spec`: the one in the folder, not adopted yet."""

    what: str
    reason: str
    until: str
    key: Path
    by: str | None = None


async def approve(folder: Path, wish: ApproveWish) -> Approval:
    """Sign it, verify it, file it. InputError, and nothing filed, when it would count for nothing."""
    now, trust = SystemClock().now(), trust_in_force(folder)
    async with open_reader(folder) as store:
        stored = await store.current_spec() if store else None
        if store is None or stored is None:
            raise InputError(f"{folder} was never applied", hint=f"metalwright apply {folder}")
        meant = of_spec(read_site(folder), stored) if wish.what == "spec" else await of_record(store, wish.what)
        try:
            authority = authority_of(folder, stored, trust)
            paper = approval_bytes(_paper(wish, meant, origin=trust.origin, by=signer_of(wish.key, wish.by, authority), now=now))
            signature = sign_as_person(wish.key, namespace_of(KIND), paper)
            approval = verified(paper, signature, authority, meant, log=trust.origin, at=now)
        except Refused as refused:
            hint = "`responsible` in site.yaml says who may, keys/allowed_signers with which key"
            raise InputError(f"refused: {refused}", hint=hint) from refused
        await store.ask(APPROVE, meant.about, {"paper": paper.decode(), "signature": signature.decode()}, now)
    return approval


def _paper(wish: ApproveWish, meant: Approvable, *, origin: str, by: str, now: Instant) -> ApprovalPaper:
    return ApprovalPaper(
        log=origin,
        what=meant.what,
        digest=meant.digest,
        role=meant.role,
        starts_at=float(int(now)),
        until=read_until(wish.until, now),
        by=by,
        reason=wish.reason,
    )
