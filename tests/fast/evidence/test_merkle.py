"""The Merkle tree against published vectors and its own laws; notes against C2SP's example key arithmetic."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.evidence import merkle

LEAF_TEXTS = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
LEAVES = [bytes.fromhex(text) for text in LEAF_TEXTS]
"""Certificate Transparency's reference leaves (certificate-transparency, merkletree tests; RFC 6962 implementations share them)."""
ROOT_OF_8 = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
ROOT_OF_1 = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"

sizes = st.integers(1, 200)


def hashes(count: int) -> list[bytes]:
    return [merkle.leaf_hash(str(number).encode()) for number in range(count)]


def test_published_roots() -> None:
    """The reference tree of eight leaves, its first leaf, and the empty tree."""
    leaves = [merkle.leaf_hash(leaf) for leaf in LEAVES]
    assert merkle.root_of(leaves).hex() == ROOT_OF_8
    assert merkle.root_of(leaves[:1]).hex() == ROOT_OF_1
    assert merkle.root_of([]) == hashlib.sha256(b"").digest()


@given(sizes, st.data())
def test_inclusion(size: int, data: st.DataObject) -> None:
    """Every leaf's proof leads to the root, in log2 steps; another leaf's or a shortened proof does not."""
    leaves, index = hashes(size), data.draw(st.integers(0, size - 1))
    proof = merkle.inclusion_proof(leaves, index)
    assert len(proof) <= (size - 1).bit_length()
    assert merkle.root_from_inclusion(leaves[index], index, size, proof) == merkle.root_of(leaves)
    assert merkle.root_from_inclusion(merkle.leaf_hash(b"other"), index, size, proof) != merkle.root_of(leaves)
    if proof:
        with pytest.raises(ValueError, match="too short"):
            merkle.root_from_inclusion(leaves[index], index, size, proof[:-1])


@given(sizes, st.data())
def test_consistency(size: int, data: st.DataObject) -> None:
    """An old tree is a prefix; a rewritten one is not."""
    leaves, old = hashes(size), data.draw(st.integers(1, size))
    old_root, root, proof = merkle.root_of(leaves[:old]), merkle.root_of(leaves), merkle.consistency_proof(leaves, old)
    assert merkle.check_consistency(old, old_root, size, root, proof)
    rewritten = [merkle.leaf_hash(b"rewritten"), *leaves[1:]]
    assert not merkle.check_consistency(old, merkle.root_of(rewritten[:old]), size, root, proof)


@given(st.integers(0, 200))
def test_the_right_edge_is_enough(size: int) -> None:
    """Appending one by one gives the tree of all, and a copy goes its own way."""
    edge = merkle.RightEdge()
    for leaf in hashes(size):
        edge.append(leaf)
    assert edge.size == size and edge.root() == merkle.root_of(hashes(size))
    copy = edge.copy()
    copy.append(merkle.leaf_hash(b"more"))
    assert edge.size == size and copy.size == size + 1
