"""A bundle verifies with its trust file alone, and nothing in it can be changed."""

import base64
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from metalwright.drivers.signing.file_signer import open_log
from metalwright.evidence.bundle import write_bundle
from metalwright.evidence.merkle import RightEdge
from metalwright.evidence.sequence import sequence
from metalwright.evidence.trust import trust_bytes
from metalwright.evidence.verify import verify_bundle
from metalwright.model.errors import InputError, InvariantError
from tests.fast.evidence.small_log import NOW, SPEC, bundle, log, statement


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    return bundle(tmp_path_factory.mktemp("log"))


def test_a_whole_bundle_is_valid(made: tuple[bytes, bytes]) -> None:
    """Valid, with the current state of every serial."""
    report = verify_bundle(*made, NOW)
    assert report.is_valid and report.records == 4 and report.simulated
    assert [(node.serial, dict(node.gates)) for node in report.nodes] == [("S1", {"os": "green"}), ("S2", {"os": "green"})]
    assert not report.unaccounted


def test_every_changed_byte_is_refused(made: tuple[bytes, bytes]) -> None:
    """Each byte in turn becomes another one: never valid; inside a record the report names that record."""
    data, trust = made
    starts = [(match.start(), int(match[1])) for match in re.finditer(rb"^record (\d+) ", data, re.MULTILINE)]
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 if at % 2 else 2
        report = verify_bundle(bytes(changed), trust, NOW)
        assert not report.is_valid, f"byte {at}"
        inside = [number for start, number in starts if start + 9 <= at < data.index(b"\n", start)]
        if inside:
            places = " ".join(where for where, _ in report.faults)
            assert f"record {inside[0]}" in places or f"bundle line {inside[0] + 6}" in places, (at, report.faults)


def test_every_truncation_is_refused(made: tuple[bytes, bytes]) -> None:
    """Cut at any length."""
    data, trust = made
    assert not any(verify_bundle(data[:length], trust, NOW).is_valid for length in range(0, len(data), 7))


@pytest.mark.parametrize("tail", [b"\n", b" ", b"x\n", b"record 4 AAAA\n", b"\r\n"])
def test_anything_appended_is_refused(made: tuple[bytes, bytes], tail: bytes) -> None:
    data, trust = made
    assert not verify_bundle(data + tail, trust, NOW).is_valid


def test_lines_dropped_doubled_or_moved_are_refused(made: tuple[bytes, bytes]) -> None:
    """Every line dropped, doubled, and swapped with its neighbour; CRLF line ends."""
    data, trust = made
    lines = data.splitlines(keepends=True)
    for at in range(len(lines)):
        versions = [lines[:at] + lines[at + 1 :], [*lines[: at + 1], *lines[at:]]]
        if at + 1 < len(lines):
            versions.append([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])
        for version in versions:
            assert not verify_bundle(b"".join(version), trust, NOW).is_valid, at
    assert not verify_bundle(data.replace(b"\n", b"\r\n"), trust, NOW).is_valid


def test_a_log_signed_by_another_key_is_refused(tmp_path: Path, made: tuple[bytes, bytes]) -> None:
    """A whole, well-formed bundle of another log does not verify under this trust file."""
    (tmp_path / "other").mkdir()
    other, _ = bundle(tmp_path / "other")
    assert not verify_bundle(other, made[1], NOW).is_valid


def test_a_rewritten_history_is_refused(tmp_path: Path) -> None:
    """The log's own key re-signs the bundle around fewer records: the checkpoint does not cover them."""
    signer, batch = log(tmp_path)
    for entries in (batch.entries[:-1], batch.entries[1:], (*batch.entries, batch.entries[0]), batch.entries[::-1]):
        numbered = tuple(replace(entry, index=index) for index, entry in enumerate(entries))
        data = write_bundle(spec=SPEC, entries=numbered, checkpoint=batch.checkpoint, signer=signer, now=NOW)
        report = verify_bundle(data, trust_bytes(signer.trust()), NOW)
        assert not report.is_valid and any(where == "checkpoint" for where, _ in report.faults)


def test_simulated_belongs_to_the_log(tmp_path: Path) -> None:
    """A caller cannot state `simulated`; a site cannot change it; a trust file that says otherwise refuses the bundle."""
    signer, batch = log(tmp_path)
    forged = replace(statement(9), predicate={**statement(9).predicate, "simulated": False})
    envelope = sequence([forged], RightEdge(), signer, NOW).entries[0].envelope
    assert json.loads(base64.b64decode(json.loads(envelope)["payload"]))["predicate"]["simulated"] is True
    with pytest.raises(InputError, match="simulated was changed"):
        open_log(tmp_path, "atlas", simulated=False)
    data = write_bundle(spec=SPEC, entries=batch.entries, checkpoint=batch.checkpoint, signer=signer, now=NOW)
    assert not verify_bundle(data, trust_bytes(replace(signer.trust(), simulated=False)), NOW).is_valid


def test_serials_without_a_record_are_named(tmp_path: Path) -> None:
    """Completeness: what the spec has and no record speaks of is said."""
    signer = open_log(tmp_path, "atlas", simulated=True)
    batch = sequence([statement(0)], RightEdge(), signer, NOW)
    data = write_bundle(spec=SPEC, entries=batch.entries, checkpoint=batch.checkpoint, signer=signer, now=NOW)
    assert verify_bundle(data, trust_bytes(signer.trust()), NOW).unaccounted == ("S2",)


def test_floats_never_enter_a_statement(tmp_path: Path) -> None:
    """A measurement is an integer with a unit, or a text."""
    signer = open_log(tmp_path, "atlas", simulated=True)
    with pytest.raises(InvariantError, match="a float"):
        sequence([replace(statement(0), predicate={"a": {"b": [1.5]}})], RightEdge(), signer, NOW)


def test_another_implementation_verifies_the_envelopes(tmp_path: Path) -> None:
    """securesystemslib alone checks each envelope against the log key."""
    signer, batch = log(tmp_path)
    key = SSlibKey(signer.key_id, "ed25519", "ed25519", {"public": signer.public_key.hex()})
    for entry in batch.entries:
        Envelope.from_dict(json.loads(entry.envelope)).verify([key], 1)


@given(st.binary(max_size=300))
@settings(max_examples=200)
def test_any_bytes_are_refused_with_words(data: bytes) -> None:
    """No input makes the verifier raise."""
    report = verify_bundle(data, data, NOW)
    assert not report.is_valid and report.faults[0][1]


def test_deep_and_doubled_json_is_refused(made: tuple[bytes, bytes]) -> None:
    """A record of 100,000 brackets, a record with a key twice, and a spec of brackets: bounded, with words."""
    data, trust = made
    for evil in (b"[" * 100_000, b'{"payload":"","payload":"","payloadType":"","signatures":[]}'):
        line = b"record 0 " + base64.b64encode(evil) + b"\n"
        lines = data.splitlines(keepends=True)
        report = verify_bundle(b"".join([*lines[:5], line, *lines[6:]]), trust, NOW)
        assert not report.is_valid and any(where.startswith("record 0") for where, _ in report.faults)


def test_the_command_needs_nothing_but_the_two_files(tmp_path: Path, made: tuple[bytes, bytes]) -> None:
    """`evidence verify`: exit 0 and `valid`; 1 for a changed byte; 3 for a missing file; it imports no database."""
    (tmp_path / "b").write_bytes(made[0])
    (tmp_path / "t").write_bytes(made[1])
    (tmp_path / "changed").write_bytes(made[0].replace(b"record 1 e", b"record 1 f"))
    verify = [sys.executable, "-X", "importtime", "-m", "metalwright.cli.main", "evidence", "verify"]
    good = subprocess.run([*verify, str(tmp_path / "b"), "--trust", str(tmp_path / "t")], capture_output=True, text=True, check=False)
    assert good.returncode == 0 and good.stdout.endswith("valid\n"), good.stdout
    assert "sqlalchemy" not in good.stderr and "pydantic" not in good.stderr
    bad = subprocess.run([*verify, str(tmp_path / "changed"), "--trust", str(tmp_path / "t")], capture_output=True, text=True, check=False)
    assert bad.returncode == 1 and "record 1" in bad.stdout and "NOT valid" in bad.stdout
    missing = subprocess.run([*verify, str(tmp_path / "none"), "--trust", str(tmp_path / "t")], capture_output=True, text=True, check=False)
    assert missing.returncode == 3 and "Traceback" not in missing.stderr
