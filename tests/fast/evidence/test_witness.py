"""Witnesses cosign only what goes on from what they know; tiles carry the whole log as files."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.evidence.checkpoint import Head
from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import Tree, leaf_hash
from metalwright.evidence.notes import open_note
from metalwright.evidence.proofs import consistency_proof, inclusion_proof
from metalwright.evidence.sequence import Batch, LogState, sequence
from metalwright.evidence.tiles import entries_path, entry_files, hash_tiles, read_entries, tile_path, tile_reader
from metalwright.evidence.verify import verify_bundle
from metalwright.evidence.witness import add_cosignatures, cosign, cosign_request, read_request
from tests.fast.evidence.small_log import LOG, NOW, MemorySigner, bundle, log, signed_trust, statement, statements, trust_of

WITNESSES = [MemorySigner(seed=seed) for seed in (11, 12)]
KEYS = [witness.witness(f"witness.example/{at}") for at, witness in enumerate(WITNESSES)]
TRUST = trust_of(witnesses=tuple(KEYS), witness_threshold=2)


def tree_of(batch: Batch) -> Tree:
    return Tree(leaf_hash(entry.envelope) for entry in batch.entries)


def asked(batch: Batch, known: Head | None, at: int = 0) -> tuple[str, Head]:
    """One witness's answer to a log that asks from what the witness knows."""
    request = cosign_request(tree_of(batch), known.size if known else 0, batch.checkpoint.note)
    return cosign(read_request(request), known=known, log=TRUST, witness=KEYS[at], now=NOW + at, sign=WITNESSES[at].sign)


def test_a_witnessed_log() -> None:
    """Two witnesses follow a log; its checkpoint carries both, and a bundle that needs both verifies."""
    heads: list[Head | None] = [None, None]
    batch = log(1)
    for size in (1, 3, 3, 7):
        batch = log(size)
        lines = []
        for at in range(2):
            line, heads[at] = asked(batch, heads[at], at)
            lines.append(line)
        note = add_cosignatures(batch.checkpoint.note, lines[::-1], TRUST)
        assert [signed.at_s for signed in open_note(note, TRUST.note_keys(size), "checkpoint").signed] == [None, int(NOW), int(NOW + 1)]
    data = bundle(replace(batch, checkpoint=replace(batch.checkpoint, note=note)))
    assert verify_bundle(data, signed_trust(TRUST), NOW + 2).is_valid
    for wrong in (lines[:1] * 2, ["— witness.example/9 AAAAAAAA\n"], [lines[0].replace("example/0", "example/1")], ["x\n"]):
        with pytest.raises(Refused):
            add_cosignatures(batch.checkpoint.note, wrong, TRUST)


def test_a_fork_is_not_cosigned() -> None:
    """A rewritten log, a shorter one, one that skips what the witness knows, another log, another key."""
    _, known = asked(log(5), None)
    fork = sequence([statement(99), *statements(8)[1:]], LogState(), LOG, NOW)
    for batch in (fork, log(3)):
        old = min(5, batch.after.size)
        request = read_request(cosign_request(tree_of(batch), old, batch.checkpoint.note))
        with pytest.raises(Refused):
            cosign(request, known=known, log=TRUST, witness=KEYS[0], now=NOW, sign=WITNESSES[0].sign)
    whole = log(8)
    for old in (0, 4, 6):
        request = read_request(cosign_request(tree_of(whole), old, whole.checkpoint.note))
        with pytest.raises(Refused, match="this witness knows 5"):
            cosign(request, known=known, log=TRUST, witness=KEYS[0], now=NOW, sign=WITNESSES[0].sign)
    for signer in (MemorySigner(seed=3), MemorySigner(origin="other")):
        other = log(8, signer)
        with pytest.raises(Refused):
            asked(other, known)
    good = read_request(cosign_request(tree_of(whole), 5, whole.checkpoint.note))
    for proof in (good.proof[:-1], (*good.proof, b"x" * 32), good.proof[::-1], ()):
        with pytest.raises(Refused, match="does not go on"):
            cosign(replace(good, proof=proof), known=known, log=TRUST, witness=KEYS[0], now=NOW, sign=WITNESSES[0].sign)


@pytest.mark.parametrize(
    "text",
    ["", "old 1", "old 01\n\nx", "old -1\n\nx", "new 1\n\nx", "old 0\nnot base64\n\nx", "old 0\n" + "AAAA\n" * 70 + "\nx", "x" * 300_000],
)
def test_malformed_requests_are_refused(text: str) -> None:
    """With words."""
    with pytest.raises(Refused):
        read_request(text)


# -- tiles ---------------------------------------------------------------------------------------------------------------------


def test_paths_are_the_specifications() -> None:
    """c2sp.org/tlog-tiles: index 1234067 is `x001/x234/067`; a tree of 70,000 has the tiles that it names."""
    assert tile_path(0, 1234067) == "tile/0/x001/x234/067" and entries_path(5, 112) == "tile/entries/005.p/112"
    assert tile_path(1, 1000, 17) == "tile/1/x001/000.p/17"
    tree = Tree(leaf_hash(number.to_bytes(4, "big")) for number in range(70_000))
    tiles = {path: len(data) // 32 for path, data in hash_tiles(tree, 70_000)}
    full = [path for path, width in tiles.items() if width == 256]
    assert len([path for path in full if path.startswith("tile/0/")]) == 273
    assert {path: width for path, width in tiles.items() if width < 256} == {
        "tile/0/273.p/112": 112,
        "tile/1/001.p/17": 17,
        "tile/2/000.p/1": 1,
    }
    assert dict.fromkeys(path for path, _ in hash_tiles(tree, 256)) == {"tile/0/000": None, "tile/1/000.p/1": None}


BIG = Tree(leaf_hash(number.to_bytes(4, "big")) for number in range(1500))


@given(st.integers(1, 1500), st.data())
@settings(deadline=None, max_examples=60)
def test_tiles_prove_what_the_tree_proves(size: int, data: st.DataObject) -> None:
    """Every proof made from the files alone is the one made from the tree."""
    files = dict(hash_tiles(BIG, size))
    node = tile_reader(files.__getitem__, size)
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    assert inclusion_proof(node, index, size) == inclusion_proof(BIG.node, index, size)
    assert consistency_proof(node, old, size) == consistency_proof(BIG.node, old, size)


def test_a_torn_tile_is_refused() -> None:
    """A file that is too short or too long is no tile."""
    files = dict(hash_tiles(BIG, 300))
    for data in (b"", files["tile/0/000"][:-1], files["tile/0/000"] + b"x"):
        node = tile_reader(lambda path, data=data: data if path == "tile/0/000" else files[path], 300)  # type: ignore[misc]
        with pytest.raises(Refused):
            inclusion_proof(node, 3, 300)


def chunks(entries: list[bytes]) -> Iterator[tuple[str, bytes]]:
    for start in range(0, len(entries), 256):
        yield from entry_files(entries[start : start + 256], start)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20))
def test_entries_read_back(entries: list[bytes]) -> None:
    """Each record after its length; a torn bundle is refused; one that is too long for the format stands alone."""
    ((path, data),) = chunks(entries)
    assert path == f"tile/entries/000.p/{len(entries)}" and read_entries(data, path) == entries
    with pytest.raises(Refused):
        read_entries(data[:-1] if entries[-1] else data + b"\x00", path)
    long = [*entries, b"x" * 70_000]
    assert dict(chunks(long)) == {f"entry/{at}": entry for at, entry in enumerate(long)}
