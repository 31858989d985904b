"""The log as static files (c2sp.org/tlog-tiles): anyone can serve them, and verify or prove records from them alone.

    checkpoint                    the signed note
    tile/<level>/<index>          256 hashes of one tree level (fewer in the last one: `.p/<width>`)
    tile/entries/<index>          256 records, each after its length

Records longer than 65,535 bytes do not fit the format's 16-bit length. A bundle with one is left out and its records are written as
`entry/<index>`; the hash tiles, proofs and the checkpoint stay whole.
"""

from collections.abc import Callable, Iterator, Sequence

from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import HASH_BYTES, NodeReader, Tree, node_hash

WIDTH, HEIGHT = 256, 8
MAX_ENTRY_BYTES = 0xFFFF


def tile_path(level: int, index: int, width: int = WIDTH) -> str:
    """`tile/0/x001/x234/067.p/112`."""
    return f"tile/{level}/{_number(index)}{_partial(width)}"


def entries_path(index: int, width: int = WIDTH) -> str:
    """`tile/entries/x001/234.p/56`."""
    return f"tile/entries/{_number(index)}{_partial(width)}"


def hash_tiles(tree: Tree, size: int) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of every tile of the tree of the first `size` leaves."""
    level, nodes = 0, size
    while nodes:
        for index in range(0, nodes, WIDTH):
            hashes = [tree.node(level * HEIGHT, at) for at in range(index, min(index + WIDTH, nodes))]
            yield tile_path(level, index // WIDTH, len(hashes)), b"".join(hashes)
        level, nodes = level + 1, nodes // WIDTH


def entry_files(entries: Sequence[bytes], start: int) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of the bundle of up to 256 records from `start`, a multiple of 256."""
    if all(len(entry) <= MAX_ENTRY_BYTES for entry in entries):
        data = b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)
        yield entries_path(start // WIDTH, len(entries)), data
    else:
        yield from ((f"entry/{start + at}", entry) for at, entry in enumerate(entries))


def read_entries(data: bytes, where: str) -> list[bytes]:
    """The records of an entry bundle; Refused when it is torn."""
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        entry = data[at + 2 : at + 2 + length]
        if at + 2 > len(data) or len(entry) != length:
            raise Refused(where, "torn")
        found.append(entry)
        at += 2 + length
    return found


def tile_reader(read: Callable[[str], bytes], size: int) -> NodeReader:
    """Tree nodes from tiles of a log of this size; `read` gives a file by its path. Refused for a tile of the wrong length."""

    def node(level: int, index: int) -> bytes:
        tile_level, above = divmod(level, HEIGHT)
        first = index << above
        number, at = divmod(first, WIDTH)
        width = min(WIDTH, (size >> (tile_level * HEIGHT)) - number * WIDTH)
        path = tile_path(tile_level, number, width)
        data = read(path)
        if len(data) != width * HASH_BYTES:
            raise Refused(path, "not a tile of this log")
        return _root([data[start : start + HASH_BYTES] for start in range(at * HASH_BYTES, (at + (1 << above)) * HASH_BYTES, HASH_BYTES)])

    return node


def _root(hashes: list[bytes]) -> bytes:
    """Of a complete subtree, from a power of two of its nodes."""
    while len(hashes) > 1:
        hashes = [node_hash(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=True)]
    return hashes[0]


def _number(index: int) -> str:
    digits = f"{index:03}"
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    return "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])


def _partial(width: int) -> str:
    return "" if width == WIDTH else f".p/{width}"
