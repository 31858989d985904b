"""What lies on a disk, compared with an image: frames that are right already, gaps that must be zero, the reading back, the node data."""

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from metalwright.agent.threads import in_thread
from metalwright.model import node_data
from metalwright.model.image import Frame, ImageManifest

if TYPE_CHECKING:
    from metalwright.ports import DiskPort

STEP = 4 << 20

Between = Callable[[str], Awaitable[None]]
"""Called between two steps with what is being done; it may raise to stop."""
Gap = tuple[int, int]
"""(offset, length) of a range that no frame covers."""


async def kept_frames(disk: "DiskPort", manifest: ImageManifest, between: Between) -> set[int]:
    """Frames that are right on the disk already. If the first is not, no write of this image ever got far: look no further.

    The disk is what a resumed write trusts, not a list of what was flushed: it needs no guess about what a loss of power left.
    """
    kept: set[int] = set()
    for index, frame in enumerate(manifest.frames):
        await between(f"looking for frames that are there already, {index} of {len(manifest.frames)} read")
        if await in_thread(is_right, disk, frame):
            kept.add(index)
        elif index == 0:
            break
    return kept


async def zero_gaps(disk: "DiskPort", manifest: ImageManifest, between: Between) -> list[Gap]:
    """What no frame covers must read as zeros, whatever was on the disk before. Returns what had to be changed."""
    written = []
    for gap in gaps(manifest, 0, manifest.size_bytes):
        for offset, length in steps(gap):
            await between("clearing what lies between the frames")
            if await in_thread(make_zero, disk, offset, length):
                written.append((offset, length))
    if written:
        await in_thread(disk.flush)
    return written


async def read_back(disk: "DiskPort", frames: Sequence[Frame], percent: int, zeroed: Sequence[Gap], between: Between) -> tuple[int, int]:
    """(frames that are right, places that differ): `percent` of the frames, evenly spread, at least one; and every gap that was written."""
    count = len(frames)
    wanted = max(1, -(-count * min(max(percent, 0), 100) // 100))
    right = wrong = 0
    for number in range(wanted):
        await between(f"reading back, {number} of {wanted} frames")
        if await in_thread(is_right, disk, frames[number * count // wanted]):
            right += 1
        else:
            wrong += 1
    for offset, length in zeroed:
        await between("reading back what was cleared")
        wrong += not await in_thread(is_zero, disk, offset, length)
    return right, wrong


def gaps(manifest: ImageManifest, start: int, end: int) -> Iterator[Gap]:
    """Ranges of [start, end) that no frame covers."""
    for frame in manifest.frames:
        if frame.offset > start:
            yield start, min(frame.offset, end) - start
        start = max(start, frame.offset + frame.length)
        if start >= end:
            return
    if end > start:
        yield start, end - start


def steps(gap: Gap) -> Iterator[Gap]:
    """A range in pieces of bounded size."""
    offset, length = gap
    for start in range(offset, offset + length, STEP):
        yield start, min(STEP, offset + length - start)


def is_right(disk: "DiskPort", frame: Frame) -> bool:
    return hashlib.sha256(disk.read(frame.offset, frame.length)).hexdigest() == frame.sha256


def is_zero(disk: "DiskPort", offset: int, length: int) -> bool:
    """A new drive reads as zeros: reading is cheaper than wearing it by writing."""
    return disk.read(offset, length) == bytes(length)


def make_zero(disk: "DiskPort", offset: int, length: int) -> bool:
    """Whether anything had to be done: discarded, and written only if the drive still shows other bytes."""
    if is_zero(disk, offset, length):
        return False
    disk.discard(offset, length)
    if not is_zero(disk, offset, length):
        disk.write(offset, bytes(length))
    return True


# -- the node-data slot --------------------------------------------------------------------------------------------------------


def read_slot(disk: "DiskPort") -> node_data.NodeData | None:
    return node_data.unpack(disk.read(node_data.slot_offset(disk.size_bytes), node_data.SLOT_BYTES))


def write_slot(disk: "DiskPort", data: node_data.NodeData | None) -> None:
    """On the medium when this returns. None clears it: a half-written disk must not look like an installed one."""
    disk.write(node_data.slot_offset(disk.size_bytes), node_data.pack(data) if data else bytes(node_data.SLOT_BYTES))
    disk.flush()
