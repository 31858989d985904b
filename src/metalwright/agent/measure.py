"""Measures what the installed system runs from: every frame of the system slot is read from the root disk."""

import asyncio
import hashlib
from typing import TYPE_CHECKING

from metalwright.agent.http_client import HttpClient, HttpError
from metalwright.agent.manifest import MAX_MANIFEST_BYTES, BadImage, read_manifest
from metalwright.model.agent_messages import MeasuredSystem
from metalwright.model.image import Frame, ImageManifest

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine, DiskPort


async def measure(machine: "BootedMachine", images_url: str, image_digest: str) -> MeasuredSystem:
    """The digest is the image's only if every system frame matched; else empty. HttpError while the manifest cannot be had."""
    about = machine.describe()
    source = HttpClient(images_url)
    try:
        path = f"/images/{image_digest.removeprefix('sha256:')}/manifest.json"
        answer = await source.request("GET", path, limit=MAX_MANIFEST_BYTES)
    finally:
        source.close()
    if answer.status != 200:
        raise HttpError(f"GET {path}: status {answer.status}")
    try:
        manifest = read_manifest(answer.body, image_digest).manifest
    except BadImage as error:
        raise HttpError(str(error)) from error
    measured, mismatches = await asyncio.to_thread(_compare, machine, about["root_disk_serial"], manifest)
    return MeasuredSystem(
        image_digest=image_digest if measured and not mismatches else "",
        root_disk_serial=about["root_disk_serial"],
        frames_measured=measured,
        mismatches=mismatches,
        kernel=about["kernel"],
        hostname=about["hostname"],
    )


def _compare(machine: "BootedMachine", disk_serial: str, manifest: ImageManifest) -> tuple[int, int]:
    try:
        disk = machine.open_disk(disk_serial)
    except (KeyError, OSError):
        return 0, 0
    try:
        frames = [frame for frame in manifest.frames if _in_system_slot(frame, manifest)]
        return len(frames), sum(not _matches(disk, frame) for frame in frames)
    finally:
        disk.close()


def _in_system_slot(frame: Frame, manifest: ImageManifest) -> bool:
    start, end = manifest.system_offset, manifest.system_offset + manifest.system_length
    return start <= frame.offset and frame.offset + frame.length <= end


def _matches(disk: "DiskPort", frame: Frame) -> bool:
    try:
        return hashlib.sha256(disk.read(frame.offset, frame.length)).hexdigest() == frame.sha256
    except OSError:
        return False
