"""RFC 6962 Merkle trees: hashes, a right edge that appends in O(log n), and a tree that answers proofs in O(log n).

Section numbers are RFC 6962's. A *node* (level, index) is the root of the complete subtree over 2**level leaves from index * 2**level.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from metalwright.evidence.errors import Refused

EMPTY_ROOT = hashlib.sha256(b"").digest()
HASH_BYTES = 32
NodeReader = Callable[[int, int], bytes]
"""(level, index) → hash of that complete subtree: from memory, or from stored tiles."""


def leaf_hash(leaf: bytes) -> bytes:
    """2.1: SHA-256(0x00 || leaf)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """2.1: SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class RightEdge:
    """The roots of the complete subtrees that make up a tree, largest first: all that an append and a root need.

    `size` in binary says how large each is, so the hashes alone are kept.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> "RightEdge":
        """With one more leaf (its hash): one hash for each trailing 1 of `size` in binary."""
        keep, size, node = len(self.peaks), self.size, leaf
        while size & 1:
            keep -= 1
            node, size = node_hash(self.peaks[keep], node), size >> 1
        return RightEdge(self.size + 1, (*self.peaks[:keep], node))

    def extend(self, leaves: Iterable[bytes]) -> "RightEdge":
        """With more leaves (their hashes)."""
        edge = self
        for leaf in leaves:
            edge = edge.append(leaf)
        return edge

    def root(self) -> bytes:
        """2.1: the tree's hash."""
        if not self.peaks:
            return EMPTY_ROOT
        *rest, root = self.peaks
        for peak in reversed(rest):
            root = node_hash(peak, root)
        return root


def read_edge(size: int, peaks: Sequence[bytes], where: str) -> RightEdge:
    """An edge from stored hashes; Refused when they cannot be one."""
    if size < 0 or len(peaks) != size.bit_count() or any(len(peak) != HASH_BYTES for peak in peaks):
        raise Refused(where, "not the right edge of a tree")
    return RightEdge(size, tuple(peaks))


class Tree:
    """Every complete node of a growing tree, in memory: 64 bytes of hashes a leaf."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels: list[list[bytes]] = [[]]
        for leaf in leaves:
            self.append(leaf)

    @property
    def size(self) -> int:
        return len(self._levels[0])

    def append(self, leaf: bytes) -> None:
        """Add one leaf (its hash)."""
        node = leaf
        for level in self._levels:
            level.append(node)
            if len(level) & 1:
                return
            node = node_hash(level[-2], level[-1])
        self._levels.append([node])

    def node(self, level: int, index: int) -> bytes:
        """A complete subtree's root; IndexError when it is not complete yet."""
        return self._levels[level][index]

    def root(self, size: int) -> bytes:
        """Root of the tree of the first `size` leaves."""
        return range_root(self.node, 0, size) if size else EMPTY_ROOT


def range_root(node: NodeReader, start: int, end: int) -> bytes:
    """2.1: MTH(D[start:end]) for a range that a proof may name: `start` is a multiple of its largest complete part."""
    width = end - start
    if width & (width - 1) == 0:
        level = width.bit_length() - 1
        return node(level, start >> level)
    middle = start + split_of(width)
    return node_hash(range_root(node, start, middle), range_root(node, middle, end))


def split_of(width: int) -> int:
    """2.1: the largest power of two below `width`."""
    return 1 << ((width - 1).bit_length() - 1)
