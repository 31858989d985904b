"""The node-data slot of a system disk: what an installed system knows about itself that is not in the image.

It lies 2 MiB before the end of the disk (rounded down to 1 MiB), outside every image frame and before the backup partition table in
the last 33 sectors; so per-node data never changes an image's digest. Layout: 16 bytes `METALWRIGHT-NODE`, the length of the JSON as
8 bytes big-endian, the JSON, zeros up to 64 KiB. Standard library only: the agent and the simulator use it too.
"""

import json
from dataclasses import asdict, dataclass, fields

MAGIC = b"METALWRIGHT-NODE"
SLOT_BYTES = 64 * 1024
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeData:
    """`token` opens one claim as stage `installed`. `session` is the secret the agent made for it, `claimed_boot` the boot that claimed:
    later boots go on with the session."""

    node: str
    agent_url: str
    pin: str
    token: str
    images_url: str
    image_digest: str
    disk_serial: str = ""
    session: str = ""
    claimed_boot: str = ""


def slot_offset(disk_bytes: int) -> int:
    """Where the slot begins on a disk of that size."""
    return (disk_bytes - 2 * MIB) // MIB * MIB


def pack(data: NodeData) -> bytes:
    """Exactly SLOT_BYTES; ValueError when the data is too long."""
    text = json.dumps(asdict(data), separators=(",", ":")).encode()
    slot = MAGIC + len(text).to_bytes(8, "big") + text
    if len(slot) > SLOT_BYTES:
        raise ValueError("node data does not fit its slot")
    return slot.ljust(SLOT_BYTES, b"\0")


def unpack(slot: bytes) -> NodeData | None:
    """What a slot says; None when it holds nothing whole."""
    if slot[: len(MAGIC)] != MAGIC:
        return None
    start = len(MAGIC) + 8
    length = int.from_bytes(slot[len(MAGIC) : start], "big")
    if not 0 < length <= len(slot) - start:
        return None
    try:
        found = json.loads(slot[start : start + length])
        known = {field.name for field in fields(NodeData)}
        return NodeData(**{name: value for name, value in found.items() if name in known and isinstance(value, str)})
    except (ValueError, AttributeError, TypeError):
        return None
