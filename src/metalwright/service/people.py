"""What people signed: waivers and approvals. Each paper is verified when it is read, never believed because it lies in the store.

A request carries the exact bytes of the paper and the armored SSH signature. Whoever reads it holds it against `keys/allowed_signers`
and `responsible` of the present spec; when one of those changes, everything is verified again, so a signer who left waives no longer.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metalwright.codec.json_codec import digest_of, to_bytes
from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import Authority, paper_digest, read_authority
from metalwright.evidence.sshsig import verify_ssh_signature
from metalwright.evidence.trust import Trust
from metalwright.evidence.waivers import verify_waiver
from metalwright.model.case import Waiver
from metalwright.model.errors import InputError
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Digest, Instant, Subject
from metalwright.model.spec import StoredSpec
from metalwright.ports import Request, RequestStore
from metalwright.service.trusting import read_signers

log = logging.getLogger(__name__)

WAIVE, APPROVE = "waive", "approve"
"""Kinds of requests whose body is `paper` and `signature`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A request with a paper. `at`: when it was filed."""

    kind: str
    about: Subject
    paper: bytes
    signature: bytes
    at: Instant


class People:
    """The verified papers of a site. `trust`: the trust file in force, read again whenever papers are verified again."""

    def __init__(self, store: RequestStore, folder: Path, trust: Callable[[], Trust]) -> None:
        self._store, self.folder, self._trust = store, folder, trust
        self._after = 0
        self._filed: list[Filed] = []
        self._key: object = None
        self.waivers: tuple[Waiver, ...] = ()
        self.refusals: Mapping[Digest, str] = {}
        """Paper → why it counts for nothing."""

    async def refresh(self, spec: StoredSpec) -> None:
        """Read what was filed since; verify it, or everything where signers or roles changed."""
        requests = await self._store.asked(self._after)
        self._after = max([self._after, *(request.id for request in requests)])
        self._filed += [filed for request in requests if (filed := filed_in(request)) is not None]
        key = (len(self._filed), spec.digest, _signers_or_none(self.folder) if self._filed else None)
        if key == self._key:
            return
        self._key = key
        self._verify(spec)

    @property
    def approvals(self) -> tuple[Filed, ...]:
        """What was filed, not verified: see `service.approvals`."""
        return tuple(filed for filed in self._filed if filed.kind == APPROVE)

    def in_force(self, at: Instant) -> tuple[Waiver, ...]:
        """Those that are not over. `at`: max(clock, log time)."""
        return tuple(waiver for waiver in self.waivers if at < waiver.until)

    def statements(self, made_at: Instant, identity_name: Callable[[Subject], str]) -> tuple[PendingStatement, ...]:
        """A record per verified waiver; each is logged once, by its key. `identity_name`: subject → `node:<serial>`, `site:<name>`."""
        return tuple(self._statement(waiver, made_at, identity_name) for waiver in self.waivers)

    def _statement(self, waiver: Waiver, made_at: Instant, identity_name: Callable[[Subject], str]) -> PendingStatement:
        filed = next(each for each in self._filed if paper_digest(each.paper) == waiver.digest)
        signed = verify_ssh_signature(filed.paper, filed.signature, "metalwright-waiver")
        predicate = {
            "check": waiver.check,
            "on": waiver.subject,
            "by": waiver.by,
            "reason": waiver.reason,
            "until_ms": round(waiver.until * 1000),
            "digest": str(waiver.digest),
            "signed_with": signed.key.fingerprint,
            "paper": filed.paper.decode(),
            "signature": filed.signature.decode(),
        }
        subjects = ((identity_name(waiver.subject), waiver.identity.removeprefix("sha256:")),)
        return PendingStatement(
            key=f"waiver/{waiver.digest}", kind="waiver", subjects=subjects, predicate=predicate, made_at=made_at, about=waiver.subject
        )

    def _verify(self, spec: StoredSpec) -> None:
        found: dict[Digest, Waiver] = {}
        refused: dict[Digest, str] = {}
        for filed in self._filed:
            if filed.kind != WAIVE:
                continue
            digest = paper_digest(filed.paper)
            try:
                trust = self._trust()
                authority = authority_of(self.folder, spec, trust)
                found[digest] = verify_waiver(filed.paper, filed.signature, authority, log=trust.origin, at=filed.at)
            except (Refused, InputError) as error:
                refused[digest] = str(error)
                log.warning("a waiver on %s counts for nothing: %s", filed.about, error)
        self.waivers, self.refusals = tuple(found.values()), refused


def authority_of(folder: Path, spec: StoredSpec, trust: Trust) -> Authority:
    """Who may sign now. Refused or InputError when that cannot be told: then nobody may."""
    return read_authority(read_signers(folder), spec.spec.responsible, trust)


def filed_in(request: Request) -> Filed | None:
    """The paper of a request; None for a request of another kind, or one that carries none."""
    paper, signature = request.body.get("paper"), request.body.get("signature")
    if request.kind not in (WAIVE, APPROVE) or not paper or not signature:
        return None
    return Filed(kind=request.kind, about=request.subject, paper=paper.encode(), signature=signature.encode(), at=request.made_at)


def site_identity(site: str, origin: str) -> str:
    """The identity document of a whole site is its name and its log."""
    return digest_of(to_bytes((site, origin)))


def _signers_or_none(folder: Path) -> bytes | None:
    try:
        return read_signers(folder)
    except InputError:
        return None
