"""An image's manifest as the agent takes it: the digest is checked first, then every bound."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from metalwright.model.ids import Digest
from metalwright.model.image import BuiltImage, Frame, ImageManifest

MAX_MANIFEST_BYTES = 64 << 20
MAX_FRAME_BYTES = 64 << 20
MAX_FRAMES = 1_000_000
PLAIN_FIELDS: Mapping[type, tuple[tuple[str, Any], ...]] = {
    shape: tuple((field.name, field.type) for field in fields(shape) if field.type in (int, str)) for shape in (ImageManifest, Frame)
}
"""Those that hold a number or a text."""


class BadImage(Exception):
    """The image is not what was ordered, or its manifest makes no sense. Nothing of it is written."""


def read_manifest(data: bytes, wanted: str) -> BuiltImage:
    """The manifest whose bytes have the digest `wanted`; BadImage otherwise."""
    seen = "sha256:" + hashlib.sha256(data).hexdigest()
    if seen != wanted:
        raise BadImage(f"the manifest has digest {seen}, ordered is {wanted}")
    try:
        found = json.loads(data)
        frames = tuple(Frame(**frame) for frame in found.pop("frames"))
        found["packages"] = tuple(found.get("packages", ()))
        manifest = ImageManifest(frames=frames, **found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadImage(f"the manifest cannot be read: {error}") from error
    _check(manifest)
    return BuiltImage(digest=Digest(seen), manifest=manifest)


def _check(manifest: ImageManifest) -> None:
    """Fields of their types; frames in order, apart, inside the image, of bounded size; the system slot inside it too."""
    for part in (manifest, *manifest.frames):
        for name, wanted in PLAIN_FIELDS[type(part)]:
            if type(getattr(part, name)) is not wanted:
                raise BadImage(f"{name} of the manifest is of another type")
    if not 0 < len(manifest.frames) <= MAX_FRAMES:
        raise BadImage(f"{len(manifest.frames)} frames")
    end = 0
    for frame in manifest.frames:
        if frame.offset < end or not 0 < frame.length <= MAX_FRAME_BYTES or not 0 < frame.stored_length <= 2 * MAX_FRAME_BYTES:
            raise BadImage(f"frame at {frame.offset}: overlapping, empty or too large")
        if frame.stored_offset < 0:
            raise BadImage(f"frame at {frame.offset}: stored at {frame.stored_offset}")
        end = frame.offset + frame.length
    if end > manifest.size_bytes:
        raise BadImage(f"frames end at {end}, the image at {manifest.size_bytes}")
    if min(manifest.system_offset, manifest.system_length) < 0 or manifest.system_offset + manifest.system_length > manifest.size_bytes:
        raise BadImage(f"system slot of {manifest.system_length} bytes at {manifest.system_offset}")
