"""Writes an image to a disk: identity first, then frame by frame, each checked before and read back after.

May be killed at any moment: the next write of the same image keeps the frames that are already right on the disk.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from metalwright.agent.http_client import HttpClient, HttpError
from metalwright.agent.manifest import MAX_MANIFEST_BYTES, BadImage, read_manifest
from metalwright.model import node_data
from metalwright.model.agent_messages import AgentOrder, WrittenImage
from metalwright.model.image import Frame, ImageManifest

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine, DiskPort

BATCH = 4
"""Frames fetched, unpacked and written side by side, then flushed: enough to keep disk and network busy, little to lose."""
ZERO_STEP = 4 << 20
FETCH_TRIES = 20

Report = Callable[[int, int, str], Awaitable[None]]
"""(bytes flushed, bytes in all, checkpoint) → delivered."""


class WriteRefused(Exception):
    """The write may not happen or cannot go on; nothing was written before identity was proven."""


class Cancelled(Exception):
    """The server asked to stop; the disk is at a frame boundary."""


async def write_image(machine: "BootedMachine", order: AgentOrder, report: Report, is_cancelled: Callable[[], bool]) -> WrittenImage:
    """The whole operation. WriteRefused, BadImage or Cancelled say why it ended early."""
    disk = await asyncio.to_thread(_open_after_identity, machine, order)
    source = HttpClient(order.images_url)
    try:
        manifest = await _manifest(source, order)
        _check_size(disk, manifest)
        total = sum(frame.length for frame in manifest.frames)
        done = await _kept_frames(disk, manifest, is_cancelled)
        await asyncio.to_thread(_clear_slot, disk)
        await report(_bytes(manifest, done), total, _checkpoint(done))
        await _zero_gaps(disk, manifest, is_cancelled)
        for batch in _batches([index for index in range(len(manifest.frames)) if index not in done]):
            if is_cancelled():
                raise Cancelled
            await asyncio.gather(*(_one_frame(machine, disk, order, manifest.frames[index]) for index in batch))
            await asyncio.to_thread(disk.flush)
            done.update(batch)
            await report(_bytes(manifest, done), total, _checkpoint(done))
        verified, mismatches = await _read_back(disk, manifest, order.verify_percent, is_cancelled)
        if not mismatches:
            await asyncio.to_thread(_write_slot, disk, order)
    except OSError as error:
        raise WriteRefused(f"disk {order.disk_serial}: {error}") from error
    finally:
        source.close()
        await asyncio.to_thread(disk.close)
    return WrittenImage(
        operation=order.operation,
        image_digest=order.image_digest,
        disk_serial=order.disk_serial,
        frames_total=len(manifest.frames),
        frames_verified=verified,
        mismatches=mismatches,
    )


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
        raise WriteRefused(f"this machine has no disk with serial {order.disk_serial}") from error
    except OSError as error:
        raise WriteRefused(f"disk {order.disk_serial} cannot be opened: {error}") from error


async def _manifest(source: HttpClient, order: AgentOrder) -> ImageManifest:
    path = f"/images/{order.image_digest.removeprefix('sha256:')}/manifest.json"
    return read_manifest(await _fetch(source, path, {}, MAX_MANIFEST_BYTES, 200), order.image_digest).manifest


def _check_size(disk: "DiskPort", manifest: ImageManifest) -> None:
    if manifest.size_bytes > node_data.slot_offset(disk.size_bytes):
        raise WriteRefused(f"the disk has {disk.size_bytes} bytes, the image needs {manifest.size_bytes} and 3 MiB more")


async def _kept_frames(disk: "DiskPort", manifest: ImageManifest, is_cancelled: Callable[[], bool]) -> set[int]:
    """Frames that are right on the disk already. If the first is not, no write of this image ever got far: look no further."""
    kept: set[int] = set()
    for index, frame in enumerate(manifest.frames):
        if is_cancelled():
            raise Cancelled
        if await asyncio.to_thread(_is_right, disk, frame):
            kept.add(index)
        elif index == 0:
            break
    return kept


async def _one_frame(machine: "BootedMachine", disk: "DiskPort", order: AgentOrder, frame: Frame) -> None:
    """Fetch, unpack, check, write. A frame that does not match its digest is never written."""
    path = f"/images/{order.image_digest.removeprefix('sha256:')}/frames.zst"
    wanted = {"Range": f"bytes={frame.stored_offset}-{frame.stored_offset + frame.stored_length - 1}"}
    own = HttpClient(order.images_url)
    try:
        stored = await _fetch(own, path, wanted, frame.stored_length, 206)
    finally:
        own.close()
    await asyncio.to_thread(_unpack_and_write, machine, disk, frame, stored)


def _unpack_and_write(machine: "BootedMachine", disk: "DiskPort", frame: Frame, stored: bytes) -> None:
    try:
        raw = machine.decompress(stored, frame.length)
    except ValueError as error:
        raise BadImage(f"frame at {frame.offset}: {error}") from error
    if len(raw) != frame.length or hashlib.sha256(raw).hexdigest() != frame.sha256:
        raise BadImage(f"frame at {frame.offset}: its bytes do not have the manifest's digest")
    disk.write(frame.offset, raw)


async def _fetch(source: HttpClient, path: str, headers: dict[str, str], limit: int, status: int) -> bytes:
    """Patient with a server that is away, not with one that says no."""
    for tries in range(FETCH_TRIES):
        try:
            answer = await source.request("GET", path, headers=headers, limit=limit, timeout_s=120.0)
        except HttpError:
            await asyncio.sleep(min(0.2 * 2**tries, 5.0))
            continue
        if answer.status != status:
            raise BadImage(f"GET {path}: status {answer.status}, wanted {status}")
        return answer.body
    raise WriteRefused(f"the image server did not answer {FETCH_TRIES} times")


async def _zero_gaps(disk: "DiskPort", manifest: ImageManifest, is_cancelled: Callable[[], bool]) -> None:
    """What no frame covers must read as zeros, whatever was on the disk before."""
    for offset, length in _gaps(manifest):
        for start in range(offset, offset + length, ZERO_STEP):
            if is_cancelled():
                raise Cancelled
            await asyncio.to_thread(_zero, disk, start, min(ZERO_STEP, offset + length - start))


def _gaps(manifest: ImageManifest) -> Iterator[tuple[int, int]]:
    end = 0
    for frame in manifest.frames:
        if frame.offset > end:
            yield end, frame.offset - end
        end = frame.offset + frame.length
    if manifest.size_bytes > end:
        yield end, manifest.size_bytes - end


def _zero(disk: "DiskPort", offset: int, length: int) -> None:
    """A new drive reads as zeros: reading is cheaper than wearing it by writing."""
    if disk.read(offset, length).count(0) != length:
        disk.write(offset, bytes(length))


async def _read_back(disk: "DiskPort", manifest: ImageManifest, percent: int, is_cancelled: Callable[[], bool]) -> tuple[int, int]:
    """(frames read back and right, frames that differ); `percent` of the frames, evenly spread, at least one."""
    count = len(manifest.frames)
    wanted = max(1, -(-count * min(max(percent, 0), 100) // 100))
    right = wrong = 0
    for number in range(wanted):
        if is_cancelled():
            raise Cancelled
        if await asyncio.to_thread(_is_right, disk, manifest.frames[number * count // wanted]):
            right += 1
        else:
            wrong += 1
    return right, wrong


def _is_right(disk: "DiskPort", frame: Frame) -> bool:
    return hashlib.sha256(disk.read(frame.offset, frame.length)).hexdigest() == frame.sha256


def _clear_slot(disk: "DiskPort") -> None:
    """A half-written disk must not look like an installed one."""
    disk.write(node_data.slot_offset(disk.size_bytes), bytes(node_data.SLOT_BYTES))
    disk.flush()


def _write_slot(disk: "DiskPort", order: AgentOrder) -> None:
    slot = node_data.unpack(_slot_bytes(order.node_data))
    if slot is None:
        raise WriteRefused("the order carries no node data")
    disk.write(node_data.slot_offset(disk.size_bytes), node_data.pack(slot))
    disk.flush()


def _slot_bytes(text: str) -> bytes:
    raw = text.encode()
    return node_data.MAGIC + len(raw).to_bytes(8, "big") + raw


def _batches(indexes: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(indexes), BATCH):
        yield indexes[start : start + BATCH]


def _bytes(manifest: ImageManifest, done: set[int]) -> int:
    return sum(manifest.frames[index].length for index in done)


def _checkpoint(done: set[int]) -> str:
    """How many frames are flushed: for people; the disk itself is what a resumed write trusts."""
    return f"{len(done)} frames"
