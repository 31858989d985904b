"""A raw disk image → a manifest and a blob of independent zstd frames. The same raw bytes give the same manifest and blob."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import zstandard

from metalwright.codec.json_codec import digest_of, to_bytes
from metalwright.model.image import BuiltImage, Frame, ImageManifest

MANIFEST, BLOB = "manifest.json", "frames.zst"
LEVEL = 9
"""Built once, read by every node: worth the CPU. Decompression speed of zstd hardly depends on the level."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RawImage:
    """What a builder made: a raw disk image, what is in it, and where its read-only system slot lies."""

    path: Path
    name: str
    version: str
    builder: str
    system_offset: int
    system_length: int
    packages: tuple[str, ...] = ()
    kernel: str = ""


def cut(raw: RawImage, folder: Path, *, frame_bytes: int) -> BuiltImage:
    """Write `manifest.json` and `frames.zst` into the folder. All-zero frames are left out; frames never straddle the system slot."""
    blob_digest = hashlib.sha256()
    frames: list[Frame] = []
    stored_offset = 0
    size = raw.path.stat().st_size
    with raw.path.open("rb") as source, (folder / BLOB).open("wb") as blob:
        for offset, data in _pieces(source, size, frame_bytes, (raw.system_offset, raw.system_offset + raw.system_length)):
            stored = zstandard.ZstdCompressor(level=LEVEL, write_checksum=False, threads=0).compress(data)
            blob.write(stored)
            blob_digest.update(stored)
            frames.append(
                Frame(
                    offset=offset,
                    length=len(data),
                    stored_offset=stored_offset,
                    stored_length=len(stored),
                    sha256=hashlib.sha256(data).hexdigest(),
                )
            )
            stored_offset += len(stored)
    manifest = ImageManifest(
        name=raw.name,
        version=raw.version,
        builder=raw.builder,
        size_bytes=size,
        blob_sha256=blob_digest.hexdigest(),
        frames=tuple(frames),
        system_offset=raw.system_offset,
        system_length=raw.system_length,
        packages=raw.packages,
        kernel=raw.kernel,
    )
    data = to_bytes(manifest)
    (folder / MANIFEST).write_bytes(data)
    return BuiltImage(digest=digest_of(data), manifest=replace(manifest))


def _pieces(source: BinaryIO, size: int, frame_bytes: int, slot: tuple[int, int]) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes) of every frame that holds anything but zeros."""
    offset = 0
    while offset < size:
        edge = next((border for border in slot if offset < border), size)
        length = min(frame_bytes, edge - offset, size - offset)
        source.seek(offset)
        data = source.read(length)
        if data.count(0) != len(data):
            yield offset, data
        offset += length
