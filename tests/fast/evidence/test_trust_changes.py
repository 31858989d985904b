"""Root keys held by people: a trust file handed from version to version, signed with ssh-keygen."""

from dataclasses import replace
from pathlib import Path

import pytest

from metalwright.evidence.errors import Refused
from metalwright.evidence.roots import ssh_root
from metalwright.evidence.trust import LogKey, Trust, read_next_trust, read_trust
from metalwright.evidence.trust_changes import assemble, draft_next
from tests.fast.evidence.people import FidoKey, Person, has_ssh_keygen, person
from tests.fast.evidence.small_log import LOG, NOW, TRUST, MemorySigner, trust_of

NAMESPACE = "metalwright-trust"


@pytest.fixture
def three(tmp_path: Path) -> list[Person]:
    return [person(tmp_path, name, *kind) for name, kind in (("a", ("ed25519",)), ("b", ("ecdsa",)), ("c", ("rsa", "-b", "2048")))]


def held_by(people: list[Person], fido: FidoKey, threshold: int) -> tuple[bytes, Trust]:
    """Version 2, for people and a security key: payload and content."""
    roots = (*(ssh_root(each.public) for each in people), ssh_root(fido.line("x").split(" ", 1)[1].strip()))
    payload = draft_next(trust_of(), NOW, roots=roots, threshold=threshold)
    return payload, replace(trust_of(), version=2, roots=roots, threshold=threshold)


@has_ssh_keygen
def test_from_the_sites_key_to_peoples_keys(three: list[Person]) -> None:
    """Ed25519, ECDSA, RSA and a FIDO key: any two of four, and the site's own key for the last time."""
    fido = FidoKey()
    payload, expected = held_by(three, fido, 2)
    signatures = [three[1].sign(payload, NAMESPACE), fido.sign(payload, NAMESPACE)]
    data = assemble(trust_of(), payload, signatures, NOW, log_sign=(LOG.public, LOG.sign))
    assert read_next_trust(read_trust(TRUST, NOW), data, NOW) == expected
    for at in range(0, len(data), 3):
        with pytest.raises(Refused):
            read_next_trust(trust_of(), data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], NOW)


@has_ssh_keygen
def test_too_few_or_wrong_hands_make_no_version(three: list[Person], tmp_path: Path) -> None:
    """One of two, the same one twice, a stranger, another namespace, an untouched token, without the old root."""
    fido = FidoKey()
    payload, _ = held_by(three, fido, 2)
    one = three[0].sign(payload, NAMESPACE)
    stranger = person(tmp_path, "stranger").sign(payload, NAMESPACE)
    for signatures, why in (
        ([one], "2 are needed"),
        ([one, one], "2 are needed"),
        ([one, stranger], "root of neither"),
        ([one, three[1].sign(payload, "file")], "namespace"),
        ([one, fido.sign(payload, NAMESPACE, flags=0)], "not touched"),
        ([one, three[1].sign(payload + b" ", NAMESPACE)], "wrong"),
    ):
        with pytest.raises(Refused, match=why):
            assemble(trust_of(), payload, signatures, NOW, log_sign=(LOG.public, LOG.sign))
    with pytest.raises(Refused, match="1 are needed"):
        assemble(trust_of(), payload, [one, three[1].sign(payload, NAMESPACE)], NOW)


@has_ssh_keygen
def test_people_rotate_the_log_key(three: list[Person]) -> None:
    """From record 10 on another key signs; the old one keeps the past; the site alone cannot do it."""
    fido = FidoKey()
    payload, second = held_by(three, fido, 2)
    data = assemble(trust_of(), payload, [each.sign(payload, NAMESPACE) for each in three[:2]], NOW, log_sign=(LOG.public, LOG.sign))
    new = MemorySigner(seed=5)
    payload = draft_next(second, NOW + 1, new_log_key=LogKey(key=new.public, from_index=10))
    with pytest.raises(Refused, match="0 of"):
        assemble(second, payload, [], NOW, log_sign=(LOG.public, LOG.sign))
    third = assemble(second, payload, [each.sign(payload, NAMESPACE) for each in three[1:]], NOW)
    found = read_next_trust(read_next_trust(trust_of(), data, NOW), third, NOW)
    assert (found.log_key(9), found.log_key(10)) == (LOG.public, new.public)


def test_a_draft_that_makes_no_sense_is_refused() -> None:
    """A threshold nobody reaches, a key that begins in the past, a payload that was edited on its way."""
    with pytest.raises(Refused):
        draft_next(trust_of(), NOW, threshold=2)
    with pytest.raises(Refused):
        draft_next(trust_of(), NOW, new_log_key=LogKey(key=MemorySigner(seed=5).public, from_index=0))
    payload = draft_next(trust_of(), NOW, threshold=1)
    assert read_trust(assemble(trust_of(), payload, [], NOW, log_sign=(LOG.public, LOG.sign)), NOW).version == 2
    for other in (payload + b" ", payload.replace(b'"threshold":1', b'"threshold":0'), payload[1:], b"", payload.replace(b",", b", ")):
        with pytest.raises(Refused):
            assemble(trust_of(), other, [], NOW, log_sign=(LOG.public, LOG.sign))
