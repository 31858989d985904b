"""Statements and envelopes: what a record says, how it is signed, and that others can read it."""

import base64
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from metalwright.evidence.canonical import read_json
from metalwright.evidence.envelope import open_envelope, peek_payload, pre_authentication, sign_envelope
from metalwright.evidence.errors import Refused
from metalwright.evidence.sequence import LogState, follow, sequence
from metalwright.evidence.statement import read_statement
from metalwright.model.errors import InvariantError
from tests.fast.evidence.small_log import LOG, NOW, MemorySigner, log, statement

words = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), words, max_size=4))
@settings(deadline=None)
def test_what_was_said_is_what_is_read(predicate: dict[str, Any]) -> None:
    """Any text and whole number comes back unchanged, beside the three things that only the log says."""
    entry = sequence([replace(statement(1), predicate=predicate)], LogState(), LOG, NOW).entries[0]
    found = read_statement(open_envelope(entry.envelope, LOG.public, "record 0"), "record 0")
    ours = {"simulated", "made_at_ms", "log"}
    said = {key: value for key, value in predicate.items() if key not in ours}
    assert {key: value for key, value in found.predicate.items() if key not in ours} == said
    assert found.place.key == statement(1).key and found.place.index == 0 and found.simulated


@pytest.mark.parametrize("lie", [{"simulated": False}, {"log": {"index": 9}}, {"made_at_ms": 0}])
def test_only_the_log_says_what_the_log_says(lie: dict[str, Any]) -> None:
    """`simulated`, time and place come from the log's key, whatever a caller puts there."""
    entry = sequence([replace(statement(1), predicate=lie)], LogState(), LOG, NOW).entries[0]
    found = read_statement(peek_payload(entry.envelope), "record 0")
    assert found.predicate["simulated"] is True
    assert found.predicate["made_at_ms"] == (NOW - 1) * 1000
    assert found.predicate["log"] == {
        "origin": LOG.origin, "index": 0, "time_ms": NOW * 1000, "key": statement(1).key, "about": "node:a01",
    }  # fmt: skip


@pytest.mark.parametrize("place", [1.5, [1.0], {"a": {"b": [{"c": -0.0}]}}, (float("nan"),), {"a": float("inf")}])
def test_floats_never_enter_a_statement(place: object) -> None:
    """A measurement is an integer with a unit, or a text; the error says where the float is."""
    with pytest.raises(InvariantError, match="the float"):
        sequence([statement(1, measured=place)], LogState(), LOG, NOW)


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "Gate"}, {"kind": ""}, {"kind": "a:b"}, {"subjects": ()}, {"subjects": (("node:S1", "short"),)},
        {"subjects": (("", "ab" * 32),)}, {"predicate": {"findings": "x" * (9 << 20)}},
    ],
)  # fmt: skip
def test_what_no_reader_would_accept_is_not_signed(broken: dict[str, Any]) -> None:
    """A record that could not be verified later never enters the log."""
    with pytest.raises(InvariantError):
        sequence([replace(statement(1), **broken)], LogState(), LOG, NOW)


def test_hostile_text_does_not_stop_the_log() -> None:
    """Half a surrogate pair from a BMC is written as a question mark; line separators and nulls stay."""
    entry = sequence([statement(1, seen="\ud800 \u2028 \x00 é")], LogState(), LOG, NOW).entries[0]
    assert read_statement(peek_payload(entry.envelope), "record 0").predicate["seen"] == "? \u2028 \x00 é"


def test_log_time_never_goes_back() -> None:
    """Where the clock went back, a record gets the time of the one before it."""
    first = sequence([statement(1)], LogState(), LOG, NOW)
    second = sequence([statement(2)], first.after, LOG, NOW - 3600)
    assert second.entries[0].logged_at == NOW and second.after.time_ms == NOW * 1000
    assert follow(LogState(), [*first.entries, *second.entries], LOG) == second.after


def test_a_log_is_followed_only_as_it_was_signed() -> None:
    """Entries of another key, another log, or another place are not what this key signed."""
    entries = log(3).entries
    for wrong in (
        entries[1:],
        (entries[0], entries[2]),
        log(3, MemorySigner(seed=2)).entries,
        log(3, MemorySigner(origin="other")).entries,
    ):
        with pytest.raises(Refused):
            follow(LogState(), wrong, LOG)


def test_securesystemslib_verifies_the_envelopes() -> None:
    """The library of the authors of TUF and in-toto checks each envelope alone, and refuses another key."""
    keys = [SSlibKey(signer.key_id, "ed25519", "ed25519", {"public": signer.public_key.hex()}) for signer in (LOG, MemorySigner(seed=2))]
    for entry in log().entries:
        envelope = Envelope.from_dict(json.loads(entry.envelope))
        assert list(envelope.verify([keys[0]], 1)) == [LOG.key_id]
        with pytest.raises(VerificationError):
            envelope.verify([keys[1]], 1)


def test_openssl_verifies_the_signature(tmp_path: Path) -> None:
    """The signature is plain Ed25519 over the DSSE pre-authentication bytes: the openssl program agrees."""
    entry = log(1).entries[0]
    payload = open_envelope(entry.envelope, LOG.public, "record 0")
    signature = json.loads(entry.envelope)["signatures"][0]["sig"]
    (tmp_path / "key").write_bytes(LOG.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (tmp_path / "signature").write_bytes(base64.b64decode(signature))
    for message, code in ((pre_authentication(payload), 0), (pre_authentication(payload + b" "), 1)):
        (tmp_path / "message").write_bytes(message)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key", "-rawin", "-in", "message", "-sigfile", "signature"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == code


def test_an_envelope_has_one_spelling() -> None:
    """The same payload and signature, written in any other way, is refused: every byte of a leaf is fixed."""
    envelope = log(1).entries[0].envelope
    payload = open_envelope(envelope, LOG.public, "record 0")
    found = json.loads(envelope)
    signature = found["signatures"][0]
    others = [
        json.dumps(found).encode(),
        json.dumps(found, separators=(",", ":"), sort_keys=False).encode() + b" ",
        json.dumps({"payloadType": found["payloadType"], **found}, separators=(",", ":"))
        .encode()[::1]
        .replace(b'"payload"', b'"p\\u0061yload"'),
        json.dumps({**found, "more": 1}, separators=(",", ":")).encode(),
        json.dumps({**found, "signatures": [signature, signature]}, separators=(",", ":")).encode(),
        json.dumps({**found, "signatures": [{**signature, "cert": ""}]}, separators=(",", ":")).encode(),
        json.dumps({**found, "signatures": []}, separators=(",", ":")).encode(),
        json.dumps({**found, "payload": found["payload"] + "\n"}, separators=(",", ":")).encode(),
        json.dumps({**found, "payloadType": "application/json"}, separators=(",", ":")).encode(),
        json.dumps({**found, "signatures": [{**signature, "keyid": ""}]}, separators=(",", ":")).encode(),
        envelope.replace(b'{"payload"', b'{"payload":"","payload"'),
    ]
    for other in others:
        assert other != envelope
        with pytest.raises(Refused):
            open_envelope(other, LOG.public, "record 0")
    with pytest.raises(Refused, match="signature is wrong"):
        open_envelope(sign_envelope(payload, LOG.key_id, MemorySigner(seed=2).sign), LOG.public, "record 0")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[" * 100_000, "nested"), (b'{"a":' * 100 + b"1" + b"}" * 100, "nested"), (b'{"a":1,"a":1}', "twice"), (b'{"a":1.5}', "point"),
        (b'{"a":NaN}', "no number"), (b"[]", "not a JSON object"), (b"", "not JSON"), (b"\xff", "not JSON"), (b'{"a":1e3}', "point"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON"), (b" " * (17 << 20), "larger"),
    ],
)  # fmt: skip
def test_hostile_json_is_refused(data: bytes, why: str) -> None:
    """Bounded in size, depth and digits; no key twice; no number with a point; never another error."""
    with pytest.raises(Refused, match=why):
        read_json(data, "record 0")


@pytest.mark.parametrize("missing", ["_type", "subject", "predicateType", "predicate"])
def test_a_statement_must_be_whole(missing: str) -> None:
    """Without any of its parts, or with one of another type, it is no statement, and no error but that."""
    whole = json.loads(peek_payload(log(1).entries[0].envelope))
    for found in ({key: value for key, value in whole.items() if key != missing}, {**whole, missing: 7}, {**whole, missing: []}):
        with pytest.raises(Refused):
            read_statement(json.dumps(found).encode(), "record 0")
