"""Waivers and approvals: the right person, role, key, time, log, machine and value, or refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.evidence.approvals import ApprovalPaper, approval_bytes, read_approval, verify_approval
from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import Authority, authority_digest, read_authority, read_time, write_time
from metalwright.evidence.waivers import WaiverPaper, draft_seen, is_within, read_waiver, verify_waiver, waiver_bytes, waives
from metalwright.model.ids import Digest, Subject
from metalwright.model.spec import Role
from tests.fast.evidence.people import FidoKey, Person, has_ssh_keygen, person, ssh_keygen_verifies
from tests.fast.evidence.small_log import LOG, trust_of

NOON = read_time("2026-12-01T12:00:00Z", "test")
DAY = 86400.0
IDENTITY = "sha256:" + "ab" * 32
WAIVER = WaiverPaper(
    log=LOG.origin,
    check="inventory.nvlinks",
    version=3,
    subject=Subject("node:atlas03"),
    identity=IDENTITY,
    seen="GPU 5: 17 links up; busbw [405..430.5] GB/s",
    starts_at=NOON,
    until=NOON + 7 * DAY,
    by="lead@example.org",
    reason="GPU 5 link 11 awaits a baseboard, ticket 4711 – é",
)
APPROVAL = ApprovalPaper(
    log=LOG.origin,
    what="record 17",
    digest=Digest(IDENTITY),
    role=Role.DECLARE_LIVE,
    starts_at=NOON,
    until=NOON + DAY,
    by="lead@example.org",
    reason="accepted",
)
ROLES = {Role.WAIVE: ("lead@example.org",), Role.DECLARE_LIVE: ("lead@example.org",), Role.EXECUTE: ("tech@example.org",)}


@pytest.fixture(scope="module")
def lead(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return person(tmp_path_factory.mktemp("lead"), "lead@example.org")


@pytest.fixture(scope="module")
def tech(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return person(tmp_path_factory.mktemp("tech"), "tech@example.org")


def authority(*lines: str, roles: dict[Role, tuple[str, ...]] = ROLES) -> Authority:
    return read_authority("".join(lines).encode(), roles, trust_of())


@has_ssh_keygen
def test_a_waiver_is_what_was_signed(lead: Person, tmp_path: Path) -> None:
    """A text for people, signed by ssh-keygen and verified by it too; every field comes back."""
    data = waiver_bytes(WAIVER)
    assert data.decode().splitlines()[:3] == ["metalwright waiver v1", f"log {LOG.origin}", "check inventory.nvlinks"]
    signature = lead.sign(data, "metalwright-waiver")
    waiver = verify_waiver(data, signature, authority(lead.line()), log=LOG.origin, at=NOON)
    assert (waiver.check, waiver.version, waiver.subject, waiver.identity) == ("inventory.nvlinks", 3, "node:atlas03", IDENTITY)
    assert (waiver.by, waiver.until, waiver.reason, waiver.seen) == (WAIVER.by, WAIVER.until, WAIVER.reason, WAIVER.seen)
    assert read_waiver(data) == WAIVER
    assert ssh_keygen_verifies(tmp_path, lead.line(), lead.name, "metalwright-waiver", data, signature)


@has_ssh_keygen
def test_no_byte_of_a_waiver_can_change(lead: Person) -> None:
    """Each byte changed, dropped or added."""
    data = waiver_bytes(WAIVER)
    signature, known = lead.sign(data, "metalwright-waiver"), authority(lead.line())
    for at in range(len(data)):
        for changed in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at] + data[at + 1 :], data[:at] + b" " + data[at:]):
            if changed != data:
                with pytest.raises(Refused):
                    verify_waiver(changed, signature, known, log=LOG.origin, at=NOON)


@has_ssh_keygen
@pytest.mark.parametrize(
    ("why", "case"),
    [
        ("has not the role waive", {"roles": {Role.WAIVE: ("other@example.org",)}}),
        ("has not the role waive", {"roles": {}}),
        ("for log", {"log": "metalwright.log/other/1"}),
        ("not in allowed_signers", {"lines": lambda lead, tech: [tech.line()]}),
        ("no key of lead", {"lines": lambda lead, tech: [f"lead@example.org {tech.public}\n"]}),
        ("not for namespace", {"lines": lambda lead, tech: [lead.line('namespaces="metalwright-approval"')]}),
        ("not valid at that time", {"lines": lambda lead, tech: [lead.line('valid-before="20261201Z"')]}),
        ("not valid at that time", {"lines": lambda lead, tech: [lead.line('valid-after="20261202Z"')]}),
        ("made for namespace", {"namespace": "metalwright-approval"}),
        ("made for namespace", {"namespace": "file"}),
        ("no key of lead", {"signer": "tech"}),
        ("over before", {"at": NOON + 7 * DAY}),
    ],
)
def test_a_waiver_by_the_wrong_hand_is_refused(lead: Person, tech: Person, why: str, case: dict[str, Any]) -> None:
    """Wrong role, log, person, key, namespace, time: each refused, with its reason."""
    data = waiver_bytes(WAIVER)
    signer = tech if case.get("signer") == "tech" else lead
    lines: Callable[[Person, Person], list[str]] = case.get("lines", lambda lead, tech: [lead.line(), tech.line()])
    known = authority(*lines(lead, tech), roles=case.get("roles", ROLES))
    signature = signer.sign(data, case.get("namespace", "metalwright-waiver"))
    with pytest.raises(Refused, match=why):
        verify_waiver(data, signature, known, log=case.get("log", LOG.origin), at=case.get("at", NOON))


def test_a_waiver_signed_on_a_security_key(tmp_path: Path) -> None:
    """FIDO keys waive too, when somebody touched them."""
    key, data = FidoKey(), waiver_bytes(WAIVER)
    known = authority(key.line("lead@example.org"))
    assert verify_waiver(data, key.sign(data, "metalwright-waiver"), known, log=LOG.origin, at=NOON).by == "lead@example.org"
    with pytest.raises(Refused, match="not touched"):
        verify_waiver(data, key.sign(data, "metalwright-waiver", flags=0), known, log=LOG.origin, at=NOON)


@has_ssh_keygen
@pytest.mark.parametrize(
    "other",
    [
        {"check": "inventory.gpus"},
        {"version": 4},
        {"subject": Subject("node:atlas04")},
        {"identity": "sha256:" + "cd" * 32},
        {"seen": "GPU 5: 16 links up; busbw 410 GB/s"},
        {"seen": "GPU 5: 17 links up; busbw 404.9 GB/s"},
        {"seen": "GPU 5: 17 links up; busbw 431 GB/s"},
        {"seen": ""},
        {"now": NOON - 1},
        {"now": NOON + 7 * DAY},
    ],
)
def test_a_waiver_covers_only_what_was_signed(lead: Person, other: dict[str, Any]) -> None:
    """Another check, version, machine, part, value or time is not waived; the end comes by itself."""
    data = waiver_bytes(WAIVER)
    waiver = verify_waiver(data, lead.sign(data, "metalwright-waiver"), authority(lead.line()), log=LOG.origin, at=NOON)
    same: dict[str, Any] = {
        "check": "inventory.nvlinks",
        "version": 3,
        "subject": Subject("node:atlas03"),
        "identity": IDENTITY,
        "seen": "GPU 5: 17 links up; busbw 405.0 GB/s",
        "now": NOON,
    }
    assert waives(waiver, **same)
    assert not waives(waiver, **same | other)


@pytest.mark.parametrize(
    "change",
    [
        {"until": NOON},
        {"until": NOON + 400 * DAY},
        {"version": 0},
        {"identity": "sha256:short"},
        {"reason": ""},
        {"reason": "two\nlines"},
        {"reason": " blank"},
        {"reason": "turn\u202earound"},
        {"reason": "e\u0301"},
        {"reason": "x" * 20_000},
        {"seen": "[5..4] GB/s"},
    ],
)
def test_a_waiver_that_makes_no_sense_is_not_made(change: dict[str, Any]) -> None:
    """No end, too far an end, nothing said, text that shows as another text."""
    with pytest.raises(Refused):
        waiver_bytes(replace(WAIVER, **change))


def test_a_paper_has_one_spelling() -> None:
    """Fields in their order, each once, nothing else; times in one form."""
    data = waiver_bytes(WAIVER)
    lines = data.splitlines(keepends=True)
    others = [
        b"".join([*lines[:1], lines[2], lines[1], *lines[3:]]),
        data + b"more field\n",
        data.replace(b"\n", b"\r\n"),
        data.rstrip(b"\n"),
        b"\n" + data,
        data.replace(b"version 3", b"version 03"),
        data.replace(b"from 2026-12-01T12:00:00Z", b"from 2026-12-1T12:00:00Z"),
        data.replace(b"from 2026-12-01T12:00:00Z", b"from 2026-12-01T12:00:00+00:00"),
        data.replace(b"waiver v1", b"approval v1"),
        b"\xff" + data,
        b"",
    ]
    for other in others:
        with pytest.raises(Refused):
            read_waiver(other)
    assert write_time(NOON) == "2026-12-01T12:00:00Z"


@given(st.text(max_size=60))
def test_a_draft_waives_exactly_what_was_seen(seen: str) -> None:
    """Any text a machine may show: the draft covers it, or cannot be made; it never covers another."""
    try:
        draft = draft_seen(seen)
    except Refused:
        return
    assert is_within(draft, seen) and not is_within(draft, seen + "x") and not is_within(draft, "")


@given(st.decimals(-1000, 1000, places=2), st.decimals(-1000, 1000, places=2), st.decimals(-1000, 1000, places=2))
def test_a_range_is_a_range(low: Any, high: Any, value: Any) -> None:
    """From low to high, both included."""
    if low <= high:
        assert is_within(f"bw [{low}..{high}] GB/s", f"bw {value} GB/s") is (low <= value <= high)
    assert not is_within("bw [1..2] GB/s", "bw 1.5e0 GB/s") and not is_within("bw [1..2] GB/s", "bw  GB/s")


@has_ssh_keygen
@pytest.mark.parametrize(
    ("why", "case"),
    [
        ("", {}),
        ("is needed", {"role": Role.WAIVE}),
        ("has not the role", {"roles": {Role.DECLARE_LIVE: ("other@example.org",)}}),
        ("did the work", {"executors": ("tech@example.org", "lead@example.org")}),
        ("for log", {"log": "other"}),
        ("not in force", {"at": NOON + DAY}),
        ("not in force", {"at": NOON - 1}),
        ("made for namespace", {"namespace": "metalwright-waiver"}),
        ("signature is wrong", {"data": approval_bytes(replace(APPROVAL, what="record 18"))}),
    ],
)
def test_an_approval_is_by_somebody_else_in_the_right_role(lead: Person, why: str, case: dict[str, Any]) -> None:
    """Who did the work does not approve it; neither does the wrong role, for another record, or too late."""
    data = approval_bytes(APPROVAL)
    signature = lead.sign(data, case.get("namespace", "metalwright-approval"))

    def verified() -> Any:
        return verify_approval(
            case.get("data", data),
            signature,
            authority(lead.line(), roles=case.get("roles", ROLES)),
            log=case.get("log", LOG.origin),
            role=case.get("role", Role.DECLARE_LIVE),
            executors=case.get("executors", ("tech@example.org",)),
            at=case.get("at", NOON),
        )

    if not why:
        assert (verified().what, verified().digest, verified().by) == ("record 17", IDENTITY, "lead@example.org")
        assert read_approval(data) == APPROVAL
        return
    with pytest.raises(Refused, match=why):
        verified()


@has_ssh_keygen
def test_authority_is_not_editable_in_the_file_it_polices(lead: Person, tech: Person) -> None:
    """Where the trust file endorses signers and roles, another signer, key option or role needs its root keys."""
    signers = lead.line().encode()
    trust = trust_of(authority=authority_digest(signers, ROLES))
    assert read_authority(signers, ROLES, trust).roles == ROLES
    widened = {**ROLES, Role.WAIVE: ("lead@example.org", "tech@example.org")}
    for other, roles in ((signers + tech.line().encode(), ROLES), (lead.line('namespaces="*"').encode(), ROLES), (signers, widened)):
        with pytest.raises(Refused, match="trust file endorses"):
            read_authority(other, roles, trust)
