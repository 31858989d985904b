"""Records of what people signed, checked offline: the paper in the record is what was signed, and says what the record says.

Whose key it is, the record's `signed_with` names by fingerprint; who may sign is the site's `keys/allowed_signers` (docs/people.md).
"""

from collections.abc import Mapping
from typing import Any

from metalwright.evidence import approvals, waivers
from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import namespace_of, paper_digest
from metalwright.evidence.sshsig import verify_ssh_signature
from metalwright.evidence.statement import Statement, milliseconds

KINDS = (waivers.KIND, approvals.KIND)


class SignedRecords:
    """Takes records in order; knows when each waiver ends."""

    def __init__(self) -> None:
        self._ends_ms: dict[str, tuple[str, str, int]] = {}

    def see(self, statement: Statement, where: str) -> None:
        """Refused for a paper that nobody signed so, and for a gate that cites a waiver of another finding, or one that was over."""
        if statement.kind in KINDS:
            check_paper(statement, where)
        if statement.kind == waivers.KIND:
            said = statement.predicate
            self._ends_ms[str(said["digest"])] = (str(said["check"]), str(said["on"]), int(said["until_ms"]))
        elif statement.kind == "gate":
            self._check_citations(statement.predicate, where)

    def _check_citations(self, predicate: Mapping[str, Any], where: str) -> None:
        findings = predicate.get("findings")
        for finding in findings if isinstance(findings, list) else []:
            known = self._ends_ms.get(str(finding.get("waiver"))) if isinstance(finding, dict) else None
            if known is None:
                continue
            check, subject, until_ms = known
            made_at_ms = predicate.get("made_at_ms")
            if (finding.get("check"), finding.get("subject")) != (check, subject):
                raise Refused(where, f"it cites a waiver of {check} on {subject} for another finding")
            if not isinstance(made_at_ms, int) or made_at_ms >= until_ms:
                raise Refused(where, f"it cites a waiver of {check} on {subject} that was over")


def check_paper(statement: Statement, where: str) -> None:
    """Refused unless the signature is of these very bytes, by the key that the record names, and every field says the same."""
    said = statement.predicate
    try:
        paper, signature = str(said["paper"]).encode(), str(said["signature"]).encode()
        found = verify_ssh_signature(paper, signature, namespace_of(statement.kind), where)
        same = _waiver(said, paper) if statement.kind == waivers.KIND else _approval(said, paper)
        if not same or said["signed_with"] != found.key.fingerprint:
            raise Refused(where, "it says another thing than the paper that was signed")
    except KeyError as error:
        raise Refused(where, f"a {statement.kind} without `{error.args[0]}`") from error
    if read_log(statement.kind, paper) != statement.place.origin:
        raise Refused(where, "the paper was signed for another log")


def read_log(kind: str, paper: bytes) -> str:
    """The origin that a paper names."""
    return waivers.read_waiver(paper).log if kind == waivers.KIND else approvals.read_approval(paper).log


def _waiver(said: Mapping[str, Any], paper: bytes) -> bool:
    read = waivers.read_waiver(paper)
    claimed = (said["check"], said["on"], said["by"], said["reason"], said["until_ms"], said["digest"])
    return claimed == (read.check, read.subject, read.by, read.reason, milliseconds(read.until), paper_digest(paper))


def _approval(said: Mapping[str, Any], paper: bytes) -> bool:
    read = approvals.read_approval(paper)
    claimed = (said["approves"], said["digest"], said["as"], said["by"], said["reason"], said["until_ms"])
    return claimed == (read.what, read.digest, read.role, read.by, read.reason, milliseconds(read.until))
