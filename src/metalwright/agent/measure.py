"""Measures what the installed system runs from: every byte of the system slot is read from the root disk and compared with the image."""

from typing import TYPE_CHECKING

from metalwright.agent.disk_content import gaps, is_right, is_zero, steps
from metalwright.agent.fetch import Fetch
from metalwright.agent.threads import in_thread
from metalwright.model.agent_messages import MeasuredSystem
from metalwright.model.image import Frame, ImageManifest

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine, DiskPort


async def measure(machine: "BootedMachine", images_url: str, image_digest: str) -> MeasuredSystem:
    """The digest is the image's only if the whole slot matched; else empty. Waits while the server is away.

    BadImage: the server has no such image, or another under its name.
    """
    about = machine.describe()
    manifest = await Fetch(images_url, image_digest, lambda: None).manifest()
    measured, mismatches = await _compare(machine, about["root_disk_serial"], manifest)
    return MeasuredSystem(
        image_digest=image_digest if measured and not mismatches else "",
        root_disk_serial=about["root_disk_serial"],
        frames_measured=measured,
        mismatches=mismatches,
        kernel=about["kernel"],
        hostname=about["hostname"],
    )


async def _compare(machine: "BootedMachine", disk_serial: str, manifest: ImageManifest) -> tuple[int, int]:
    """(frames measured, places that differ); nothing measured when the disk cannot be opened."""
    try:
        disk = await in_thread(machine.open_disk, disk_serial)
    except (KeyError, OSError):
        return 0, 0
    try:
        start, end = manifest.system_offset, manifest.system_offset + manifest.system_length
        frames = [frame for frame in manifest.frames if frame.offset < end and start < frame.offset + frame.length]
        wrong = 0
        for frame in frames:
            wrong += not await in_thread(_is_measured_right, disk, frame, start, end)
        for gap in gaps(manifest, start, end):
            for offset, length in steps(gap):
                wrong += not await in_thread(_is_still_zero, disk, offset, length)
        return len(frames), wrong
    finally:
        await in_thread(disk.close)


def _is_measured_right(disk: "DiskPort", frame: Frame, start: int, end: int) -> bool:
    """A frame that reaches over the slot's edge cannot be told apart from what may change beside it: it counts as wrong."""
    try:
        return start <= frame.offset and frame.offset + frame.length <= end and is_right(disk, frame)
    except OSError:
        return False


def _is_still_zero(disk: "DiskPort", offset: int, length: int) -> bool:
    try:
        return is_zero(disk, offset, length)
    except OSError:
        return False
