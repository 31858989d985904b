"""RFC 6962 Merkle tree hashes, proofs, and an append that needs only the right edge.

Section numbers are RFC 6962's. Proof sizes grow with log2 of the tree size; appending one leaf costs at most log2 hashes.
"""

import hashlib
from collections.abc import Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    """2.1: SHA-256(0x00 || leaf)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """2.1: SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class RightEdge:
    """The roots of the complete subtrees along the right edge, largest first: all that an append needs."""

    def __init__(self) -> None:
        self._peaks: list[tuple[int, bytes]] = []

    @property
    def size(self) -> int:
        return sum(width for width, _ in self._peaks)

    def copy(self) -> "RightEdge":
        """Another edge at the same size."""
        other = RightEdge()
        other._peaks = list(self._peaks)
        return other

    def append(self, leaf: bytes) -> None:
        """Add one leaf (its hash)."""
        self._peaks.append((1, leaf))
        while len(self._peaks) > 1 and self._peaks[-1][0] == self._peaks[-2][0]:
            (width, right), (_, left) = self._peaks.pop(), self._peaks.pop()
            self._peaks.append((2 * width, node_hash(left, right)))

    def root(self) -> bytes:
        """The tree's root."""
        if not self._peaks:
            return EMPTY_ROOT
        *rest, (_, root) = self._peaks
        for _, peak in reversed(rest):
            root = node_hash(peak, root)
        return root


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Root over leaf hashes."""
    edge = RightEdge()
    for leaf in leaves:
        edge.append(leaf)
    return edge.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """2.1.1: the audit path of the leaf at `index` in the tree of all `leaves` (hashes)."""
    if not 0 <= index < len(leaves):
        raise ValueError("no such leaf")
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(leaves[:split], index), root_of(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), root_of(leaves[:split])]


def root_from_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """The root that the proof leads to (RFC 9162 2.1.3.2); ValueError for a proof of the wrong shape."""
    if not 0 <= index < size:
        raise ValueError("no such leaf")
    position, last, root = index, size - 1, leaf
    for step in proof:
        if last == 0:
            raise ValueError("proof too long")
        if position & 1 or position == last:
            root = node_hash(step, root)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            root = node_hash(root, step)
        position, last = position >> 1, last >> 1
    if last != 0:
        raise ValueError("proof too short")
    return root


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> list[bytes]:
    """2.1.2: that the tree of the first `old_size` leaves is a prefix of the tree of all of them."""
    if not 0 < old_size <= len(leaves):
        raise ValueError("the old tree is empty or larger")
    return _subproof(leaves, old_size, whole=True)


def check_consistency(old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """RFC 9162 2.1.4.2."""
    if old_size == new_size:
        return not proof and old_root == new_root
    if not 0 < old_size < new_size or not proof:
        return False
    path = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    first, last = old_size - 1, new_size - 1
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
    return last == 0 and old == old_root and new == new_root


def _subproof(leaves: Sequence[bytes], old_size: int, *, whole: bool) -> list[bytes]:
    if old_size == len(leaves):
        return [] if whole else [root_of(leaves)]
    split = _split(len(leaves))
    if old_size <= split:
        return [*_subproof(leaves[:split], old_size, whole=whole), root_of(leaves[split:])]
    return [*_subproof(leaves[split:], old_size - split, whole=False), root_of(leaves[:split])]


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)
