"""Checkpoints and proofs, checked by Go's own transparency-log code (golang.org/x/mod/sumdb), which knows nothing of ours."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metalwright.evidence.canonical import to_base64
from metalwright.evidence.merkle import Tree, leaf_hash
from metalwright.evidence.notes import ED25519, NoteKey
from metalwright.evidence.proofs import consistency_proof, inclusion_proof
from tests.fast.evidence.small_log import LOG, log

GOPATH = Path("/usr/share/gocode")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("go") is None, reason="needs Go (Debian package golang-go)"),
    pytest.mark.skipif(not (GOPATH / "src/golang.org/x/mod/sumdb/note").is_dir(), reason="needs Debian package golang-golang-x-mod-dev"),
]
Peer = Callable[[dict[str, Any]], str]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Peer:
    """A small Go program around note.Open, tlog.CheckRecord and tlog.CheckTree: `good`, or what is wrong."""
    folder = tmp_path_factory.mktemp("go")
    environment = os.environ | {"GO111MODULE": "off", "GOPATH": str(GOPATH), "GOCACHE": str(folder / "cache"), "GOTOOLCHAIN": "local"}
    source = Path(__file__).parent / "go_peer" / "main.go"
    subprocess.run(["go", "build", "-o", str(folder / "peer"), str(source)], env=environment, check=True)

    def ask(question: dict[str, Any]) -> str:
        done = subprocess.run([str(folder / "peer")], input=json.dumps(question), capture_output=True, text=True, check=False)
        return done.stdout.strip() or done.stderr

    return ask


def question(size: int, index: int, old: int) -> dict[str, Any]:
    """Everything that we claim about one log: its checkpoint, one record's place, an earlier size."""
    batch = log(size)
    tree = Tree(leaf_hash(entry.envelope) for entry in batch.entries)
    return {
        "key": str(NoteKey(name=LOG.origin, type=ED25519, key=LOG.public)),
        "note": batch.checkpoint.note,
        "record": to_base64(batch.entries[index].envelope),
        "index": index,
        "inclusion": [to_base64(step) for step in inclusion_proof(tree.node, index, size)],
        "old_size": old,
        "old_root": to_base64(tree.root(old)),
        "consistency": [to_base64(step) for step in consistency_proof(tree.node, old, size)],
    }


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13])
def test_go_agrees(peer: Peer, size: int) -> None:
    """Signature, inclusion of every record and consistency with every earlier size."""
    for at in range(size):
        assert peer(question(size, at, at + 1)) == "good"


@pytest.mark.parametrize(
    "change",
    [
        {"note": question(7, 2, 3)["note"].replace("\n7\n", "\n8\n")},
        {"key": str(NoteKey(name="other", type=ED25519, key=LOG.public))},
        {"record": to_base64(b"another record")},
        {"index": 3},
        {"old_root": to_base64(b"r" * 32)},
        {"old_size": 4},
    ],
    ids=lambda change: next(iter(change)),
)
def test_go_refuses_what_we_refuse(peer: Peer, change: dict[str, Any]) -> None:
    """The peer is no rubber stamp."""
    assert peer(question(7, 2, 3)) == "good" and peer(question(7, 2, 3) | change) != "good"
