"""`evidence verify` and what people signed: the paper in a record is the one that was signed."""

from pathlib import Path
from typing import Any

import pytest

from metalwright.evidence.papers import paper_digest, write_time
from metalwright.evidence.sequence import LogState, sequence
from metalwright.evidence.sshsig import verify_ssh_signature
from metalwright.evidence.verify import verify_bundle
from metalwright.evidence.waivers import WaiverPaper, waiver_bytes
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Subject
from tests.fast.evidence.people import Person, has_ssh_keygen, person
from tests.fast.evidence.small_log import LOG, NOW, TRUST, bundle, statement

pytestmark = has_ssh_keygen
ON = Subject("node:a01/gpu:3")


@pytest.fixture(scope="module")
def lead(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return person(tmp_path_factory.mktemp("lead"), "lead@example.org")


def waiver(lead: Person, *, namespace: str = "metalwright-waiver", log: str = LOG.origin, **said: Any) -> PendingStatement:
    """The record of a good waiver, or with some of its words changed."""
    paper = waiver_bytes(
        WaiverPaper(
            log=log,
            check="inventory.gpus",
            version=1,
            subject=ON,
            identity="sha256:" + "0" * 64,
            seen="7 GPUs",
            starts_at=NOW - 10,
            until=NOW + 600,
            by=lead.name,
            reason="spare is ordered",
        )
    )
    signature = lead.sign(paper, namespace)
    predicate = {
        "check": "inventory.gpus",
        "on": str(ON),
        "by": lead.name,
        "reason": "spare is ordered",
        "until_ms": int(NOW + 600) * 1000,
        "digest": str(paper_digest(paper)),
        "signed_with": verify_ssh_signature(paper, signature, namespace).key.fingerprint,
        "paper": paper.decode(),
        "signature": signature.decode(),
    }
    subjects = (("node:S1", "0" * 64),)
    return PendingStatement(key="waiver/1", kind="waiver", subjects=subjects, predicate=predicate | said, made_at=NOW, about=ON)


def gate(digest: object, at: float = NOW, check: str = "inventory.gpus") -> PendingStatement:
    """A verdict that cites it."""
    finding = {"check": check, "subject": str(ON), "result": "fail", "waiver": str(digest)}
    predicate = {"gate": "inventory", "verdict": "waived", "findings": [finding]}
    return PendingStatement(
        key="gate/1", kind="gate", subjects=(("node:S1", "0" * 64),), predicate=predicate, made_at=at, about=Subject("node:a01")
    )


def faults(*pending: PendingStatement) -> list[str]:
    """Of a bundle with these records, made by the holder of the log key."""
    data = bundle(sequence([statement(1), *pending], LogState(), LOG, NOW))
    return [f"{fault.where}: {fault.why}" for fault in verify_bundle(data, TRUST, NOW + 2000).faults]


def test_a_signed_waiver_and_the_gate_that_cites_it_verify(lead: Person) -> None:
    """As every turn writes them."""
    made = waiver(lead)
    assert faults(made, gate(made.predicate["digest"])) == []
    assert write_time(NOW + 600) in made.predicate["paper"]


@pytest.mark.parametrize(
    "said",
    [{"check": "inventory.nics"}, {"on": "node:a02"}, {"by": "mallory"}, {"until_ms": int(NOW + 9999) * 1000}, {"reason": "none"}],
    ids=lambda said: next(iter(said)),
)
def test_a_record_that_says_more_than_was_signed_is_refused(lead: Person, said: dict[str, Any]) -> None:
    """Even when the log key's holder made it."""
    assert faults(waiver(lead, **said))[0] == "record 1: it says another thing than the paper that was signed"


def test_a_paper_that_was_not_signed_so_is_refused(lead: Person, tmp_path: Path) -> None:
    """Another namespace, another log, another key, changed bytes, no paper."""
    other = person(tmp_path, "other").sign(waiver(lead).predicate["paper"].encode(), "metalwright-waiver").decode()
    changed = waiver(lead).predicate["paper"].replace("spare", "SPARE")
    for record in (
        waiver(lead, namespace="metalwright-approval"),
        waiver(lead, log="metalwright.log/other/1"),
        waiver(lead, signature=other),
        waiver(lead, paper=changed),
        waiver(lead, paper=7),
    ):
        fault = faults(record)[0]
        assert fault.startswith("record 1: ")


def test_a_gate_cites_only_what_covers_it(lead: Person) -> None:
    """Not for another check, and not after its end."""
    made = waiver(lead)
    digest = made.predicate["digest"]
    assert "for another finding" in faults(made, gate(digest, check="inventory.nics"))[0]
    assert "that was over" in faults(made, gate(digest, at=NOW + 600))[0]
