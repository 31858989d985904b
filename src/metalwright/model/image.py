"""A disk image as independent frames: fetched, checked and written in any order, resumed after a crash."""

from dataclasses import dataclass

from metalwright.model.ids import Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """`length` bytes of the disk at `offset`, stored as `stored_length` bytes of zstd at `stored_offset` of the blob.

    Ranges of the disk that no frame covers are empty: discarded or left unwritten, and read as zeros.
    """

    offset: int
    length: int
    stored_offset: int
    stored_length: int
    sha256: str
    """Hex digest of the `length` raw bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageManifest:
    """One built image. Its digest is the sha256 of the manifest file's bytes: `sha256:<hex>`."""

    name: str
    version: str
    builder: str
    size_bytes: int
    """Size of the raw disk image; the target disk must be at least this large."""
    blob_sha256: str
    frames: tuple[Frame, ...]
    system_offset: int
    system_length: int
    """The read-only system slot: what the installed agent re-reads to measure what it runs."""
    packages: tuple[str, ...] = ()
    kernel: str = ""
    node_data_offset: int = 0
    node_data_length: int = 0
    """The slot outside every frame where per-node data is written, so that the image's digest does not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    """A manifest with its digest, as the image store holds it."""

    digest: Digest
    manifest: ImageManifest
