"""RFC 6962 inclusion and consistency proofs: made from tree nodes, checked from hashes alone.

Making: RFC 6962 2.1.1 and 2.1.2. Checking: the algorithms of RFC 9162 2.1.3.2 and 2.1.4.2. Sizes are at most log2(n) + 1 hashes.
"""

from collections.abc import Sequence

from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import HASH_BYTES, NodeReader, node_hash, range_root, split_of


def inclusion_proof(node: NodeReader, index: int, size: int) -> list[bytes]:
    """2.1.1 PATH(index, D[size]), from the leaf's sibling up to the root's child. ValueError when there is no such leaf."""
    if not 0 <= index < size:
        raise ValueError(f"no leaf {index} in a tree of {size}")
    start, end, siblings = 0, size, []
    while end - start > 1:
        middle = start + split_of(end - start)
        if index < middle:
            siblings.append(range_root(node, middle, end))
            end = middle
        else:
            siblings.append(range_root(node, start, middle))
            start = middle
    return siblings[::-1]


def consistency_proof(node: NodeReader, old_size: int, size: int) -> list[bytes]:
    """2.1.2 PROOF(old_size, D[size]). ValueError unless 0 < old_size <= size."""
    if not 0 < old_size <= size:
        raise ValueError(f"no proof from {old_size} to {size}")
    start, end, path, is_whole = 0, size, [], True
    while old_size != end:
        middle = start + split_of(end - start)
        if old_size <= middle:
            path.append(range_root(node, middle, end))
            end = middle
        else:
            path.append(range_root(node, start, middle))
            start, is_whole = middle, False
    return ([] if is_whole else [range_root(node, start, end)]) + path[::-1]


def root_from_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], where: str = "proof") -> bytes:
    """RFC 9162 2.1.3.2: the root that the proof leads to; Refused for a proof of the wrong shape."""
    if not 0 <= index < size or any(len(step) != HASH_BYTES for step in (leaf, *proof)):
        raise Refused(where, "not an inclusion proof")
    position, last, root = index, size - 1, leaf
    for step in proof:
        if last == 0:
            raise Refused(where, "too long for a log of this size")
        if position & 1 or position == last:
            root = node_hash(step, root)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            root = node_hash(root, step)
        position, last = position >> 1, last >> 1
    if last != 0:
        raise Refused(where, "too short for a log of this size")
    return root


def is_consistent(old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """RFC 9162 2.1.4.2: whether the tree (size, root) begins with the tree (old_size, old_root). The empty tree begins every tree."""
    if old_size in (0, size):
        return 0 <= old_size <= size and not proof and (old_size == 0 or old_root == root)
    if not 0 < old_size < size or not proof or any(len(step) != HASH_BYTES for step in proof):
        return False
    path = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    first, last = old_size - 1, size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    old = new = path[0]
    for step in path[1:]:
        if last == 0:
            return False
        if first & 1 or first == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            new = node_hash(new, step)
        first, last = first >> 1, last >> 1
    return last == 0 and old == old_root and new == root
