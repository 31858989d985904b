"""`metalwright waive`: a finding of now → the text that a person signs → a verified waiver on its way to the turns."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.drivers.signing.ssh_keygen import public_line, sign_as_person
from metalwright.evidence.canonical import from_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import Authority, namespace_of
from metalwright.evidence.ssh_wire import read_key
from metalwright.evidence.waivers import KIND, WaiverPaper, draft_seen, verify_waiver, waiver_bytes
from metalwright.gates.judge import OK, judge_check, site_subject, waivable_text
from metalwright.gates.registry import find_check
from metalwright.model.case import NodeCase, SiteCase, Waiver
from metalwright.model.errors import InputError
from metalwright.model.ids import Instant, Subject, node_subject
from metalwright.model.judgement import Finding
from metalwright.service.clock import SystemClock
from metalwright.service.identity import identity_digest
from metalwright.service.judging import case_of, site_case_of
from metalwright.service.people import WAIVE, authority_of, site_identity
from metalwright.service.trusting import trust_in_force
from metalwright.service.wiring import open_reader

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiveWish:
    """What was asked for. `seen`: a pattern instead of exactly what is seen; `by`: where the key is of several people."""

    check: str
    on: str
    reason: str
    until: str
    key: Path
    by: str | None = None
    seen: str | None = None


async def waive(folder: Path, wish: WaiveWish) -> Waiver:
    """Sign it, verify it as every turn will, file it. InputError, and nothing filed, when it would count for nothing."""
    now = SystemClock().now()
    stored, trust = read_site(folder), trust_in_force(folder)
    case = await (site_case_of(folder) if wish.on == "site" or wish.on.startswith("site:") else case_of(folder, _node(wish.on)))
    finding = _finding(case, wish)
    identity = "sha256:" + identity_digest(case) if isinstance(case, NodeCase) else site_identity(str(stored.spec.site.name), trust.origin)
    try:
        authority = authority_of(folder, stored, trust)
        by = signer_of(wish.key, wish.by, authority)
        paper = waiver_bytes(_paper(wish, finding, identity, origin=trust.origin, by=by, now=now))
        signature = sign_as_person(wish.key, namespace_of(KIND), paper)
        waiver = verify_waiver(paper, signature, authority, log=trust.origin, at=now)
    except Refused as refused:
        hint = "`responsible` in site.yaml says who may waive, keys/allowed_signers with which key"
        raise InputError(f"refused: {refused}", hint=hint) from refused
    about = site_subject(case) if isinstance(case, SiteCase) else node_subject(case.node.name)
    async with open_reader(folder) as store:
        if store is None:
            raise InputError(f"{folder} was never applied", hint=f"metalwright apply {folder}")
        await store.ask(WAIVE, about, {"paper": paper.decode(), "signature": signature.decode()}, now)
    return waiver


def signer_of(key: Path, by: str | None, authority: Authority) -> str:
    """The one principal that this key is of. InputError when there is none, or a choice."""
    if by is not None:
        return by
    blob = from_base64(public_line(key).split(" ")[1], str(key))
    read_key(blob, str(key))
    names = {name for signer in authority.signers if signer.key.blob == blob for name in signer.principals}
    exact = sorted(name for name in names if not re.search(r"[*?!]", name))
    if len(exact) != 1:
        who = f"of several people: {', '.join(exact)}" if exact else "of nobody in keys/allowed_signers"
        raise InputError(f"refused: {key} is a key {who}", hint="add the key there, or say who signs: --by NAME")
    return exact[0]


def read_until(text: str, now: Instant) -> Instant:
    """`2026-12-24`, `2026-12-24T18:00:00Z`, or from now: `90min`, `12h`, `7d`."""
    if span := re.fullmatch(r"(\d{1,6})(s|min|h|d)", text):
        return float(int(now) + int(span[1]) * SECONDS[span[2]])
    for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise InputError(f"--until {text[:40]!r} is no time", hint="2026-12-24 (UTC), 2026-12-24T18:00:00Z, 12h or 7d")


def _node(on: str) -> str:
    return on.removeprefix("node:").partition("/")[0]


def _finding(case: NodeCase | SiteCase, wish: WaiveWish) -> Finding:
    """The one open finding that is meant. InputError when there is none, or a choice."""
    check = find_check(wish.check)
    if check is None:
        raise InputError(f"there is no check {wish.check}", hint="metalwright gate list")
    faults = [finding for finding in judge_check(case, check) if finding.result not in OK and not finding.waiver]
    whole = site_subject(case) if isinstance(case, SiteCase) else node_subject(case.node.name)
    wanted = whole if wish.on in ("site", str(whole).partition(":")[2]) else Subject(wish.on)
    meant = [finding for finding in faults if finding.subject == wanted] or (faults if wanted == whole and len(faults) == 1 else [])
    if len(meant) == 1:
        return meant[0]
    if not faults:
        raise InputError(f"{wish.check} finds no fault on {wanted}: nothing to waive", hint=f"metalwright explain {wish.check} --on NODE")
    raise InputError(f"{wish.check} has no single fault on {wanted}", hint="--on " + ", or ".join(str(each.subject) for each in faults[:8]))


def _paper(wish: WaiveWish, finding: Finding, identity: str, *, origin: str, by: str, now: Instant) -> WaiverPaper:
    check = find_check(str(finding.check))
    return WaiverPaper(
        log=origin,
        check=str(finding.check),
        version=check.version if check else 0,
        subject=finding.subject,
        identity=identity,
        seen=wish.seen or draft_seen(waivable_text(finding)),
        starts_at=float(int(now)),
        until=read_until(wish.until, now),
        by=by,
        reason=wish.reason,
    )
