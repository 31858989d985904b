"""Signatures of people: what real ssh-keygen makes is verified, what it refuses is refused, and nothing else passes."""

import contextlib
from calendar import timegm
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.evidence.allowed_signers import check_signer, matches, read_allowed_signers
from metalwright.evidence.errors import Refused
from metalwright.evidence.sshsig import armor, unarmor, verify_ssh_signature
from tests.fast.evidence.people import FidoKey, has_ssh_keygen, person, ssh_keygen_verifies

MESSAGE, NAMESPACE = b"metalwright waiver v1\n\xc3\xa9\n", "metalwright-waiver"
NOON = float(timegm((2026, 12, 1, 12, 0, 0)))
KINDS = [("ed25519",), ("ecdsa", "-b", "256"), ("ecdsa", "-b", "384"), ("ecdsa", "-b", "521"), ("rsa", "-b", "2048"), ("rsa", "-b", "3072")]


@has_ssh_keygen
@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("hash_name", ["sha256", "sha512"])
def test_what_ssh_keygen_signs_is_verified(tmp_path: Path, kind: tuple[str, ...], hash_name: str) -> None:
    """Every key type and hash; for this message and namespace only, as ssh-keygen itself says."""
    signer = person(tmp_path, "ops@example.org", *kind)
    signature = signer.sign(MESSAGE, NAMESPACE, "-O", f"hashalg={hash_name}")
    found = verify_ssh_signature(MESSAGE, signature, NAMESPACE)
    signers = read_allowed_signers(signer.line().encode())
    check_signer(signers, "ops@example.org", found, NOON)
    assert ssh_keygen_verifies(tmp_path, signer.line(), "ops@example.org", NAMESPACE, MESSAGE, signature)
    for message, namespace in ((MESSAGE + b" ", NAMESPACE), (MESSAGE, "metalwright-approval"), (MESSAGE, "file"), (b"", NAMESPACE)):
        with pytest.raises(Refused):
            verify_ssh_signature(message, signature, namespace)
        assert not ssh_keygen_verifies(tmp_path, signer.line(), "ops@example.org", namespace, message, signature)


@has_ssh_keygen
def test_no_byte_of_a_signature_can_change(tmp_path: Path) -> None:
    """Each byte inside the armour changed, dropped or doubled."""
    data = unarmor(person(tmp_path, "ops").sign(MESSAGE, NAMESPACE), "signature")
    assert verify_ssh_signature(MESSAGE, armor(data), NAMESPACE)
    for at in range(len(data)):
        for changed in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at] + data[at + 1 :], data[: at + 1] + data[at:]):
            if changed != data:
                with pytest.raises(Refused):
                    verify_ssh_signature(MESSAGE, armor(changed), NAMESPACE)
    with pytest.raises(Refused):
        verify_ssh_signature(MESSAGE, armor(data + b"\x00"), NAMESPACE)


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_fido_keys_must_be_touched(kind: str, tmp_path: Path) -> None:
    """A touched key is accepted, one that signed by itself is not; the flags cannot be changed; ssh-keygen agrees."""
    key = FidoKey(kind=kind)  # type: ignore[arg-type]
    for flags, is_verified in ((0x01, False), (0x05, True)):
        signature = key.sign(MESSAGE, NAMESPACE, flags=flags)
        found = verify_ssh_signature(MESSAGE, signature, NAMESPACE)
        assert (found.flags, found.is_person_verified, found.key.is_hardware) == (flags, is_verified, True)
        check_signer(read_allowed_signers(key.line("ops").encode()), "ops", found, NOON)
    with pytest.raises(Refused, match="not touched"):
        verify_ssh_signature(MESSAGE, key.sign(MESSAGE, NAMESPACE, flags=0), NAMESPACE)
    data = unarmor(key.sign(MESSAGE, NAMESPACE, flags=0), "signature")
    with pytest.raises(Refused, match="is wrong"):
        verify_ssh_signature(MESSAGE, armor(data[:-5] + b"\x01" + data[-4:]), NAMESPACE)
    with pytest.raises(Refused, match="not made for SSH"):
        verify_ssh_signature(MESSAGE, FidoKey(kind=kind, application=b"webauthn").sign(MESSAGE, NAMESPACE), NAMESPACE)  # type: ignore[arg-type]


@has_ssh_keygen
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_our_fido_keys_are_what_openssh_takes_for_fido_keys(kind: str, tmp_path: Path) -> None:
    """The keys in memory that these tests use pass `ssh-keygen -Y verify`."""
    key = FidoKey(kind=kind)  # type: ignore[arg-type]
    signature = key.sign(MESSAGE, NAMESPACE)
    assert ssh_keygen_verifies(tmp_path, key.line("ops"), "ops", NAMESPACE, MESSAGE, signature)
    assert not ssh_keygen_verifies(tmp_path, key.line("ops"), "ops", NAMESPACE, MESSAGE + b" ", signature)


@has_ssh_keygen
@pytest.mark.parametrize(
    ("options", "at", "is_allowed"),
    [
        ("", "20261201120000Z", True),
        ('namespaces="metalwright-waiver"', "20261201120000Z", True),
        ('namespaces="git,metalwright-*"', "20261201120000Z", True),
        ('namespaces="git"', "20261201120000Z", False),
        ('namespaces="metalwright-*,!metalwright-waiver"', "20261201120000Z", False),
        ('valid-after="20261201120000Z"', "20261201120000Z", True),
        ('valid-after="202612011200Z"', "20261201115959Z", False),
        ('valid-before="20261202Z"', "20261201235959Z", True),
        ('valid-before="20261202Z"', "20261202000001Z", False),
        ('valid-after="20261201Z",valid-before="20261202Z",namespaces="metalwright-waiver"', "20261201120000Z", True),
        ('valid-after="20261201Z",valid-before="20261202Z",namespaces="file"', "20261201120000Z", False),
        ('NAMESPACES="metalwright-waiver"', "20261201120000Z", True),
    ],
)
def test_options_mean_what_they_mean_to_openssh(tmp_path: Path, options: str, at: str, is_allowed: bool) -> None:
    """Namespaces and validity, decided as `ssh-keygen -Y verify -Overify-time=` decides them."""
    signer = person(tmp_path, "ops@example.org")
    signature = signer.sign(MESSAGE, NAMESPACE)
    line = signer.line(options)
    assert ssh_keygen_verifies(tmp_path, line, "ops@example.org", NAMESPACE, MESSAGE, signature, "-O", f"verify-time={at}") is is_allowed
    assert ours(line, "ops@example.org", signature, at) is is_allowed


def ours(signers: str, principal: str, signature: bytes, at: str = "20261201120000Z") -> bool:
    """Our answer at a time."""
    instant = float(timegm(tuple(int(at[start:end]) for start, end in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14)))))
    try:
        found = verify_ssh_signature(MESSAGE, signature, NAMESPACE)
        check_signer(read_allowed_signers(signers.encode()), principal, found, instant)
    except Refused:
        return False
    return True


@has_ssh_keygen
@pytest.mark.parametrize(
    ("listed", "principal"),
    [
        ("ops@example.org", "ops@example.org"),
        ("ops@example.org", "OPS@example.org"),
        ("ops@example.org", "ops@example.com"),
        ("a@example.org,ops@example.org", "ops@example.org"),
        ("*@example.org", "ops@example.org"),
        ("*@example.org,!ops@example.org", "ops@example.org"),
        ("o?s@example.org", "ops@example.org"),
        ("o??s@example.org", "ops@example.org"),
        ("*", "ops@example.org"),
        ("ops", "ops@example.org"),
    ],
)
def test_principals_match_as_in_openssh(tmp_path: Path, listed: str, principal: str) -> None:
    """Lists, wildcards and exceptions; never case-blind."""
    signer = person(tmp_path, "k")
    line = f"{listed} {signer.public}\n"
    signature = signer.sign(MESSAGE, NAMESPACE)
    assert ours(line, principal, signature) is ssh_keygen_verifies(tmp_path, line, principal, NAMESPACE, MESSAGE, signature)


@has_ssh_keygen
def test_the_reason_of_a_refusal_is_said(tmp_path: Path) -> None:
    """Unknown person, another person's key, wrong namespace, expired: each in words."""
    ops, tech = person(tmp_path, "ops"), person(tmp_path, "tech")
    found = verify_ssh_signature(MESSAGE, ops.sign(MESSAGE, NAMESPACE), NAMESPACE)
    for signers, words in (
        (tech.line(), "not in allowed_signers"),
        (f"ops {tech.public}\n{ops.line().replace('ops ', 'tech ', 1)}", "no key of ops"),
        (ops.line('namespaces="git"'), "not for namespace"),
        (ops.line('valid-before="20200101Z"'), "not valid at that time"),
    ):
        with pytest.raises(Refused, match=words):
            check_signer(read_allowed_signers(signers.encode()), "ops", found, NOON)


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDnT68N1+aPhXIQhFQ0X6jekt0UsUk/iyE8dWHb3g9GN"


@pytest.mark.parametrize(
    "line",
    [
        "ops",
        f"ops {KEY.split(' ', maxsplit=1)[0]}",
        f"{KEY}",
        f"ops cert-authority {KEY}",
        f'ops namespaces="a",cert-authority {KEY}',
        f"ops no-such-option {KEY}",
        f'ops namespaces="a",namespaces="b" {KEY}',
        f'ops valid-after="20261201" {KEY}',
        f'ops valid-after="2026120112Z" {KEY}',
        f'ops valid-after="20261301Z" {KEY}',
        f'ops valid-after="2026 1 1Z" {KEY}',
        f"ops {KEY[:-4]}",
        f"ops {KEY.replace('ssh-ed25519', 'ssh-rsa', 1)}",
        f"ops ssh-dss {KEY.split(' ')[1]}",
        f",ops {KEY}",
        f"ops {KEY}=",
        f'ops namespaces="a {KEY}',
    ],
)
def test_a_file_with_a_bad_line_is_refused(line: str) -> None:
    """The whole file, with the line's number; comments, blank lines and comments of keys are fine."""
    good = f"# who\n\n  ops {KEY} a comment with spaces\n"
    assert len(read_allowed_signers(good.encode())) == 1
    with pytest.raises(Refused, match="allowed_signers:4"):
        read_allowed_signers((good + line + "\n").encode())


EMPTY = b"-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n"
SHORT = [armor(b"SSHSIG" + rest) for rest in (b"", b"\x00\x00\x00\x02", b"\x00\x00\x00\x01\xff\xff\xff\xff")]


@pytest.mark.parametrize("armored", [b"", b"\xff", EMPTY, EMPTY + b"x", b"x" * (1 << 20), armor(b""), *SHORT])
def test_hostile_signatures_are_refused(armored: bytes) -> None:
    """With words."""
    with pytest.raises(Refused):
        verify_ssh_signature(MESSAGE, armored, NAMESPACE)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_refused_with_words(data: bytes) -> None:
    """No input makes anything but a refusal, or a file of comments without a signer."""
    with pytest.raises(Refused):
        verify_ssh_signature(MESSAGE, armor(b"SSHSIG\x00\x00\x00\x01" + data), NAMESPACE)
    with contextlib.suppress(Refused):
        assert read_allowed_signers(data + b" x") == ()


@given(st.text("ab*?", max_size=12), st.text("ab", max_size=12))
def test_patterns(pattern: str, text: str) -> None:
    """The matcher against the plain definition."""

    def plain(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return plain(pattern[1:], text) or bool(text and plain(pattern, text[1:]))
        return bool(text) and pattern[0] in ("?", text[0]) and plain(pattern[1:], text[1:])

    assert matches(text, (pattern,)) is plain(pattern, text)
