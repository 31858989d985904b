"""`metalwright evidence verify`: two files in, an answer and an exit code out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import Tree, leaf_hash
from metalwright.evidence.records import proof_text, verify_proof
from metalwright.evidence.sequence import LogState, sequence
from tests.fast.evidence.small_log import LOG, NOW, TRUST, MemorySigner, bundle, log, signed_trust, statement, trust_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """bundle, trust, and some that are not valid."""
    (tmp_path / "bundle").write_bytes(bundle())
    (tmp_path / "trust").write_bytes(TRUST)
    (tmp_path / "changed").write_bytes(bundle().replace(b'record 1 {"payload":"e', b'record 1 {"payload":"f'))
    (tmp_path / "incomplete").write_bytes(bundle(sequence([statement(1)], LogState(), LOG, NOW)))
    (tmp_path / "checkpoint").write_text(log(3).checkpoint.note)
    (tmp_path / "large").write_bytes(b" " * (2 << 20))
    return tmp_path


def verify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "metalwright.cli.main", "evidence", "verify", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_valid_bundle(folder: Path) -> None:
    """Exit 0, the states, and `valid`; it imports no database, no model validation and no HTTP."""
    done = verify(folder, "bundle", "--trust", "trust", "--since", "checkpoint")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines() == [
        f"4 records of log {LOG.origin}, checkpoint signed by log key {LOG.key_id[:16]}, consistent with the checkpoint of 3 records, "
        "exported 2025-10-09 08:53:21 UTC",
        "simulated site: not evidence of real hardware",
        "2 of 2 serials of the spec accounted for (2 machines, 0 parts)",
        "  S1  a01  os green",
        "  S2  a02  os green",
        "valid",
    ]
    assert not any(module in done.stderr for module in ("sqlalchemy", "pydantic", "httptools", "rich.console"))
    found = json.loads(verify(folder, "bundle", "--trust", "trust", "--json").stdout)
    assert found["valid"] and found["complete"] and found["records"] == 4 and found["faults"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("changed", "--trust", "trust"), 1, "record 1"),
        (("bundle", "--trust", "bundle"), 1, "trust file"),
        (("trust", "--trust", "trust"), 1, "line 1"),
        (("incomplete", "--trust", "trust"), 2, "no record of S2"),
        (("incomplete", "--trust", "trust", "--since", "checkpoint"), 1, "it had 3 records"),
        (("none", "--trust", "trust"), 3, "No such file"),
        ((".", "--trust", "trust"), 3, "directory"),
        (("bundle", "--trust", "none"), 3, "No such file"),
        (("bundle", "--trust", "large"), 3, "larger than"),
        (("bundle", "--trust", "trust", "--since", "trust"), 3, "checkpoint"),
        (("bundle",), 3, "--trust"),
    ],
)
def test_exit_codes(folder: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    """1 not valid, 2 valid and not complete, 3 files that are none; always words, never a traceback."""
    done = verify(folder, *arguments)
    assert done.returncode == code, done.stdout + done.stderr[-300:]
    words = done.stdout + "\n".join(line for line in done.stderr.splitlines() if not line.startswith("import time:"))
    assert says in words and "Traceback" not in words
    if code == 1:
        assert done.stdout.endswith("NOT valid\n")


def test_a_chain_of_trust_files(folder: Path) -> None:
    """The first is the one that was handed over; each later one must follow it."""
    root = MemorySigner(seed=21)
    second = trust_of(version=2, roots=(root.public,))
    (folder / "trust-2").write_bytes(signed_trust(second, LOG, root))
    assert verify(folder, "bundle", "--trust", "trust", "--trust", "trust-2").returncode == 0
    (folder / "trust-2").write_bytes(signed_trust(second, root))
    assert verify(folder, "bundle", "--trust", "trust", "--trust", "trust-2").returncode == 1


def test_one_record_verifies_alone(folder: Path) -> None:
    """A C2SP proof of each record; any changed letter is refused."""
    batch = log(4)
    tree = Tree(leaf_hash(entry.envelope) for entry in batch.entries)
    for entry in batch.entries:
        text = proof_text(entry, tree, batch.checkpoint)
        statement_, head = verify_proof(text, trust_of())
        assert (statement_.place.index, head.size) == (entry.index, 4)
    for at in range(len(text)):
        with pytest.raises(Refused):
            verify_proof(text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :], trust_of())
        with pytest.raises(Refused):
            verify_proof(text[:at] + text[at + 1 :], trust_of())
    (folder / "proof").write_text(text)
    done = verify(folder, "proof", "--trust", "trust")
    assert done.returncode == 0 and "record 3 of log" in done.stdout and done.stdout.endswith("valid\n")
    (folder / "proof").write_text(text.replace("index 3", "index 2"))
    assert verify(folder, "proof", "--trust", "trust").returncode == 1
