"""RFC 6962 trees and proofs: published vectors, the RFC's own recursion, and what must not verify."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import EMPTY_ROOT, RightEdge, Tree, leaf_hash, node_hash, read_edge
from metalwright.evidence.proofs import consistency_proof, inclusion_proof, is_consistent, root_from_inclusion

# The reference tree of Certificate Transparency, with its proofs: github.com/transparency-dev/merkle, proof/verify_test.go.
LEAVES = [
    bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSION = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): INCLUSION[0, 8],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
    (6, 7): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
}
REFERENCE = Tree(leaf_hash(leaf) for leaf in LEAVES)
OTHER = hashlib.sha256(b"other").digest()


def hashes(count: int) -> list[bytes]:
    return [leaf_hash(str(number).encode()) for number in range(count)]


def by_recursion(leaves: list[bytes]) -> bytes:
    """RFC 6962 2.1, word for word, over leaf hashes."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(by_recursion(leaves[:split]), by_recursion(leaves[split:]))


BIG = Tree(hashes(300))


def test_published_roots() -> None:
    """The reference tree at every size, by the edge and by the tree; and the empty one."""
    edge = RightEdge()
    assert (
        edge.root() == REFERENCE.root(0) == EMPTY_ROOT == bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    )
    for size, root in enumerate(ROOTS, 1):
        edge = edge.append(leaf_hash(LEAVES[size - 1]))
        assert edge.root().hex() == REFERENCE.root(size).hex() == root


@pytest.mark.parametrize(("index", "size"), INCLUSION)
def test_published_inclusion_proofs(index: int, size: int) -> None:
    """We make the published proofs and accept them."""
    proof = inclusion_proof(REFERENCE.node, index, size)
    assert [step.hex() for step in proof] == INCLUSION[index, size]
    assert root_from_inclusion(leaf_hash(LEAVES[index]), index, size, proof).hex() == ROOTS[size - 1]


@pytest.mark.parametrize(("old", "size"), CONSISTENCY)
def test_published_consistency_proofs(old: int, size: int) -> None:
    """We make the published proofs and accept them."""
    proof = consistency_proof(REFERENCE.node, old, size)
    assert [step.hex() for step in proof] == CONSISTENCY[old, size]
    assert is_consistent(old, bytes.fromhex(ROOTS[old - 1]), size, bytes.fromhex(ROOTS[size - 1]), proof)


@given(st.integers(0, 300))
@settings(deadline=None)
def test_edge_and_tree_are_the_recursion_of_the_rfc(size: int) -> None:
    """Three ways to one root; an edge goes on from its stored hashes."""
    edge = RightEdge().extend(hashes(size))
    assert edge.size == size and edge.root() == BIG.root(size) == by_recursion(hashes(size))
    assert read_edge(size, edge.peaks, "edge").append(OTHER) == edge.append(OTHER)
    with pytest.raises(Refused):
        read_edge(size, (*edge.peaks, OTHER), "edge")


@given(st.integers(1, 300), st.data())
@settings(deadline=None)
def test_inclusion(size: int, data: st.DataObject) -> None:
    """Every leaf's proof leads to the root in at most log2 steps; any other leaf, place, size or proof does not."""
    index = data.draw(st.integers(0, size - 1))
    leaf, root, proof = BIG.node(0, index), BIG.root(size), inclusion_proof(BIG.node, index, size)
    assert len(proof) <= (size - 1).bit_length()
    assert root_from_inclusion(leaf, index, size, proof) == root
    wrong = [
        (OTHER, index, size, proof),
        (leaf, index + 1, size, proof),
        (leaf, index - 1, size, proof),
        (leaf, index ^ 2, size, proof),
        (leaf, index, size * 2, proof),
        (leaf, index, size // 2, proof),
        (leaf, index, size, [*proof, root]),
        (leaf, index, size, [root, *proof]),
        (leaf, index, size, [*proof, b""]),
        *((leaf, index, size, [*proof[:at], OTHER, *proof[at + 1 :]]) for at in range(len(proof))),
        *([(leaf, index, size, proof[:-1])] if proof else []),
    ]
    for case in wrong:
        assert not leads_to(root, *case), case[1:3]


def leads_to(root: bytes, leaf: bytes, index: int, size: int, proof: list[bytes]) -> bool:
    try:
        return root_from_inclusion(leaf, index, size, proof) == root
    except Refused:
        return False


@given(st.integers(1, 300), st.data())
@settings(deadline=None)
def test_consistency(size: int, data: st.DataObject) -> None:
    """An old tree begins the new one; a rewritten, larger or other one does not, and no part of the proof can be changed."""
    old = data.draw(st.integers(1, size))
    old_root, root, proof = BIG.root(old), BIG.root(size), consistency_proof(BIG.node, old, size)
    assert len(proof) <= (size - 1).bit_length() + 1
    assert is_consistent(old, old_root, size, root, proof)
    assert not is_consistent(old, OTHER, size, root, proof)
    assert not is_consistent(old, old_root, size, OTHER, proof) or size == old == 0
    assert not is_consistent(old, old_root, size, root, [*proof, root])
    assert not is_consistent(old, old_root, size, root, [OTHER, *proof])
    assert not is_consistent(size + 1, old_root, size, root, proof)
    if old < size:
        assert not is_consistent(old, old_root, size, root, [])
        assert not is_consistent(old, root, size, old_root, proof)
        for at in range(len(proof)):
            assert not is_consistent(old, old_root, size, root, [*proof[:at], OTHER, *proof[at + 1 :]])


@given(st.integers(2, 300), st.data())
@settings(deadline=None)
def test_a_rewritten_history_is_caught(size: int, data: st.DataObject) -> None:
    """Change one old leaf: no proof of the new log shows the old root."""
    old = data.draw(st.integers(1, size - 1))
    at = data.draw(st.integers(0, old - 1))
    rewritten = Tree([*hashes(size)[:at], OTHER, *hashes(size)[at + 1 :]])
    assert not is_consistent(old, BIG.root(old), size, rewritten.root(size), consistency_proof(rewritten.node, old, size))


def test_no_proof_of_what_is_not_there() -> None:
    """Leaves and sizes outside the tree."""
    for index, size in ((-1, 3), (3, 3), (0, 0)):
        with pytest.raises(ValueError):
            inclusion_proof(BIG.node, index, size)
    for old, size in ((0, 3), (4, 3)):
        with pytest.raises(ValueError):
            consistency_proof(BIG.node, old, size)
    assert is_consistent(0, b"", 5, BIG.root(5), []) and not is_consistent(0, b"", 5, BIG.root(5), [OTHER])
