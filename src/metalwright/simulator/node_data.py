"""The node-data slot: what an installed disk says about the node it was made for.

The last MiB of the disk: 16 bytes of magic, the length as 8 bytes big-endian, then JSON with the keys `node`, `agent_url`, `pin`,
`token`, `images_url` and `image_digest`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from metalwright.simulator.disks import read_file

MAGIC = b"METALWRIGHT-NODE"
SLOT_BYTES = 1 << 20
_HEAD_BYTES = len(MAGIC) + 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeData:
    """The slot's content."""

    node: str
    agent_url: str
    pin: str
    token: str
    images_url: str
    image_digest: str


def encode(data: NodeData) -> bytes:
    """The slot's bytes as they stand on the disk, without padding."""
    text = json.dumps({name: getattr(data, name) for name in NodeData.__slots__}).encode()
    return MAGIC + len(text).to_bytes(8) + text


def read_node_data(path: Path, size_bytes: int) -> NodeData | None:
    """What the disk says, or None when it holds no valid slot: then the disk does not boot."""
    slot = read_file(path, size_bytes - SLOT_BYTES, SLOT_BYTES)
    if not slot.startswith(MAGIC):
        return None
    length = int.from_bytes(slot[len(MAGIC) : _HEAD_BYTES])
    if length > SLOT_BYTES - _HEAD_BYTES:
        return None
    try:
        found = json.loads(slot[_HEAD_BYTES : _HEAD_BYTES + length])
    except (UnicodeDecodeError, json.JSONDecodeError):
        return None
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in NodeData.__slots__):
        return None
    return NodeData(**{name: found[name] for name in NodeData.__slots__})
