"""The trust file: one spelling, signed by its roots, handed on from version to version."""

import json
from dataclasses import replace
from typing import Any

import pytest

from metalwright.evidence.errors import Refused
from metalwright.evidence.trust import LogKey, Trust, read_next_trust, read_trust
from tests.fast.evidence.small_log import LOG, NOW, TRUST, MemorySigner, signed_trust, trust_of

ROOTS = tuple(MemorySigner(seed=seed) for seed in (21, 22, 23))
HELD_BY_THREE = trust_of(version=2, roots=tuple(root.public for root in ROOTS), threshold=2)


def test_a_trust_file_reads_back() -> None:
    """What was written is what is read."""
    assert read_trust(TRUST, NOW) == trust_of()
    assert read_trust(signed_trust(HELD_BY_THREE, *ROOTS[:2]), NOW) == HELD_BY_THREE


def test_every_changed_byte_is_refused() -> None:
    """Any byte changed, dropped or added: not the file that its roots signed."""
    for at in range(len(TRUST)):
        for changed in (
            TRUST[:at] + bytes([TRUST[at] ^ 1]) + TRUST[at + 1 :],
            TRUST[:at] + TRUST[at + 1 :],
            TRUST[:at] + b" " + TRUST[at:],
        ):
            if changed != TRUST:
                with pytest.raises(Refused):
                    read_trust(changed, NOW)


def test_the_threshold_counts_keys_not_signatures() -> None:
    """Two of three roots; one alone, strangers, or one under another's name do not make two."""
    for signers in (ROOTS[:1], (ROOTS[0], LOG), (LOG, MemorySigner(seed=9))):
        with pytest.raises(Refused, match="2 are needed"):
            read_trust(signed_trust(HELD_BY_THREE, *signers), NOW)
    found = json.loads(signed_trust(HELD_BY_THREE, *ROOTS[:2]))
    found["signatures"][1]["sig"] = found["signatures"][0]["sig"]
    with pytest.raises(Refused, match="2 are needed"):
        read_trust((json.dumps(found, indent=2, sort_keys=True) + "\n").encode(), NOW)


def test_a_new_version_needs_the_old_roots_and_its_own() -> None:
    """From the site's one key to three people's, and on to other people's: each step signed by both sides."""
    first = read_trust(TRUST, NOW)
    second = read_next_trust(first, signed_trust(HELD_BY_THREE, LOG, *ROOTS[:2]), NOW)
    assert second == HELD_BY_THREE
    for signers in (ROOTS[:2], (LOG,), (LOG, ROOTS[0])):
        with pytest.raises(Refused, match="needed"):
            read_next_trust(first, signed_trust(HELD_BY_THREE, *signers), NOW)
    others = tuple(MemorySigner(seed=seed) for seed in (31, 32))
    third = replace(HELD_BY_THREE, version=3, roots=tuple(root.public for root in others))
    assert read_next_trust(second, signed_trust(third, *ROOTS[1:], *others), NOW) == third
    with pytest.raises(Refused, match="does not follow"):
        read_next_trust(first, signed_trust(third, *ROOTS[1:], *others), NOW)


NEW_KEY = LogKey(key=MemorySigner(seed=5).public, from_index=10)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"origin": "other"}, "another log"),
        ({"simulated": False}, "another log"),
        ({"log_keys": (replace(trust_of().log_keys[0], key=NEW_KEY.key),)}, "signed the past"),
        ({"version": 1}, "does not follow"),
        ({"version": 3}, "does not follow"),
    ],
)
def test_a_new_version_cannot_change_the_past(changed: dict[str, Any], why: str) -> None:
    """Origin, `simulated` and the keys of old records stay, whoever signs."""
    with pytest.raises(Refused, match=why):
        read_next_trust(trust_of(), signed_trust(trust_of(**{"version": 2} | changed), LOG), NOW)
    rotated = trust_of(version=2, log_keys=(*trust_of().log_keys, NEW_KEY))
    found = read_next_trust(trust_of(), signed_trust(rotated, LOG), NOW)
    assert (found.log_key(9), found.log_key(10), found.log_key(10**6)) == (LOG.public, NEW_KEY.key, NEW_KEY.key)


@pytest.mark.parametrize(
    "trust",
    [
        trust_of(threshold=0),
        trust_of(threshold=2),
        trust_of(roots=(LOG.public, LOG.public), threshold=2),
        trust_of(log_keys=()),
        trust_of(log_keys=(NEW_KEY,)),
        trust_of(log_keys=(*trust_of().log_keys, replace(NEW_KEY, from_index=0))),
        trust_of(log_keys=(*trust_of().log_keys, NEW_KEY, replace(NEW_KEY, from_index=5))),
        trust_of(witness_threshold=1),
        trust_of(witnesses=(ROOTS[0].witness("w"), ROOTS[0].witness("v")), witness_threshold=2),
        trust_of(witnesses=(LOG.witness("w"),), witness_threshold=1),
        trust_of(origin="with space"),
        trust_of(origin=""),
        trust_of(version=0),
    ],
)
def test_a_trust_file_that_makes_no_sense_is_refused(trust: Trust) -> None:
    """Signed or not: thresholds nobody or everybody reaches, gaps between keys, a witness that is the log itself."""
    with pytest.raises(Refused):
        read_trust(signed_trust(trust, LOG), NOW)


def test_an_expired_trust_file_is_refused() -> None:
    """From the moment on that it names itself."""
    data = signed_trust(trust_of(expires_at_ms=int(NOW * 1000)), LOG)
    assert read_trust(data, NOW).version == 1
    with pytest.raises(Refused, match="expired"):
        read_trust(data, NOW + 1)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"signed":{},"signatures":[]}', b" " * (2 << 20)])
def test_hostile_trust_files_are_refused(data: bytes) -> None:
    """With words."""
    with pytest.raises(Refused):
        read_trust(data, NOW)
    with pytest.raises(Refused, match=r"does not know|needed|another way"):
        found = json.loads(TRUST)
        found["signed"]["more"] = 1
        read_trust((json.dumps(found, indent=2, sort_keys=True) + "\n").encode(), NOW)
