"""Writes an image to a disk: identity first, then frame by frame, each checked before and read back after.

May be killed at any moment: the next write of the same image keeps the frames that are already right on the disk.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metalwright.agent.disk_content import kept_frames, read_back, write_slot, zero_gaps
from metalwright.agent.fetch import Fetch
from metalwright.agent.frames import FrameWriter
from metalwright.agent.threads import in_thread
from metalwright.model import node_data
from metalwright.model.agent_messages import AgentOrder, WrittenImage
from metalwright.model.image import ImageManifest

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine, DiskPort


class WriteRefused(Exception):
    """The write may not happen or cannot go on; nothing was written before identity was proven."""


class Cancelled(Exception):
    """The server asked to stop; no frame is half written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a write is. Bytes count once they are flushed."""

    bytes_done: int = 0
    bytes_total: int = 0
    frames_done: int = 0
    doing: str = ""


Tell = Callable[[Standing], None]


async def write_image(machine: "BootedMachine", order: AgentOrder, tell: Tell, is_cancelled: Callable[[], bool]) -> WrittenImage:
    """The whole operation. WriteRefused, BadImage or Cancelled say why it ended early."""
    data = _node_data(order)
    disk = await in_thread(_open_after_identity, machine, order)
    try:
        return await _Write(machine, disk, order, tell, is_cancelled).run(data)
    except OSError as error:
        raise WriteRefused(f"disk {order.disk_serial}: {error}") from error
    finally:
        await in_thread(disk.close)


class _Write:
    """One write, after identity."""

    def __init__(self, machine: "BootedMachine", disk: "DiskPort", order: AgentOrder, tell: Tell, is_cancelled: Callable[[], bool]) -> None:
        self._machine, self._disk, self._order, self._tell, self._is_cancelled = machine, disk, order, tell, is_cancelled
        self._fetch = Fetch(order.images_url, order.image_digest, self._stop_if_cancelled)
        self._lengths: tuple[int, ...] = ()
        self._frames_done = self._bytes_done = self._bytes_total = 0

    async def run(self, data: node_data.NodeData) -> WrittenImage:
        manifest = await self._fetch.manifest()
        self._check_size(manifest)
        self._lengths = tuple(frame.length for frame in manifest.frames)
        self._bytes_total = sum(self._lengths)
        kept = await kept_frames(self._disk, manifest, self._between)
        self._count(kept)
        await in_thread(write_slot, self._disk, None)
        zeroed = await zero_gaps(self._disk, manifest, self._between)
        self._note("writing")
        missing = [(index, frame) for index, frame in enumerate(manifest.frames) if index not in kept]
        await FrameWriter(self._machine, self._disk, self._fetch, self._flushed).write(missing)
        verified, mismatches = await read_back(self._disk, manifest.frames, self._order.verify_percent, zeroed, self._between)
        if not mismatches:
            await in_thread(write_slot, self._disk, data)
        return WrittenImage(
            operation=self._order.operation,
            image_digest=self._order.image_digest,
            disk_serial=self._order.disk_serial,
            frames_total=len(manifest.frames),
            frames_verified=verified,
            mismatches=mismatches,
        )

    def _check_size(self, manifest: ImageManifest) -> None:
        size = self._disk.size_bytes
        if manifest.size_bytes > node_data.slot_offset(size):
            raise WriteRefused(f"the disk has {size} bytes, the image needs {manifest.size_bytes} and 3 MiB more")

    def _flushed(self, indexes: Sequence[int]) -> None:
        self._count(indexes)
        self._note("writing")

    def _count(self, indexes: Collection[int]) -> None:
        self._frames_done += len(indexes)
        self._bytes_done += sum(self._lengths[index] for index in indexes)

    def _note(self, doing: str) -> None:
        total = self._bytes_total
        self._tell(Standing(bytes_done=self._bytes_done, bytes_total=total, frames_done=self._frames_done, doing=doing))

    async def _between(self, doing: str) -> None:
        self._stop_if_cancelled()
        self._note(doing)
        await asyncio.sleep(0)

    def _stop_if_cancelled(self) -> None:
        if self._is_cancelled():
            raise Cancelled


def _node_data(order: AgentOrder) -> node_data.NodeData:
    raw = order.node_data.encode(errors="replace")
    found = node_data.unpack(node_data.MAGIC + len(raw).to_bytes(8, "big") + raw)
    if found is None:
        raise WriteRefused("the order carries no node data")
    return found


def _open_after_identity(machine: "BootedMachine", order: AgentOrder) -> "DiskPort":
    """The serial in this machine equals the order's, and the ordered disk is here: else not one byte."""
    own = machine.describe()["system_serial"].strip()
    if not own or own != order.serial.strip():
        raise WriteRefused(f"this machine has serial {own or 'none'}, the order is for {order.serial}")
    if not order.disk_serial:
        raise WriteRefused("the order names no disk")
    try:
        return machine.open_disk(order.disk_serial)
    except KeyError as error:
        raise WriteRefused(f"this machine has no disk with serial {order.disk_serial}, or more than one") from error
    except OSError as error:
        raise WriteRefused(f"disk {order.disk_serial} cannot be opened: {error}") from error
