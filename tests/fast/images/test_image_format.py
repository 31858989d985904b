"""The image format: what is cut can be put together again by the manifest alone, twice the same, and nothing altered is taken."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.agent.manifest import MAX_FRAME_BYTES, BadImage, read_manifest
from metalwright.drivers.images.format import BLOB, MANIFEST, RawImage, cut
from metalwright.drivers.images.store import FolderImageStore
from metalwright.drivers.images.synthetic import build_synthetic
from metalwright.model.errors import InputError
from metalwright.model.image import BuiltImage
from metalwright.model.spec import ImageRecipe

FRAME = 4096
NAME = "small@1"


def make(folder: Path) -> BuiltImage:
    return build_synthetic(ImageRecipe(name="small", version="1", builder="synthetic", size_mib=8, frame_mib=1, packages=("a=1",)), folder)


@settings(deadline=None, max_examples=60)
@given(
    pieces=st.lists(st.tuples(st.integers(0, 60_000), st.binary(min_size=1, max_size=200)), max_size=12),
    slot=st.tuples(st.integers(0, 60_000), st.integers(0, 60_000)),
)
def test_the_manifest_alone_puts_the_disk_together_again(pieces: list[tuple[int, bytes]], slot: tuple[int, int]) -> None:
    """Frames hold every byte that is not zero, in order, each by itself; none straddles the system slot; empty ranges have none."""
    raw = bytearray(60_500)
    for offset, data in pieces:
        raw[offset : offset + len(data)] = data
    start, end = sorted(slot)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = _cut(folder, bytes(raw), start, end - start).manifest
        blob = (folder / BLOB).read_bytes()
    again = bytearray(len(raw))
    for frame in manifest.frames:
        data = zstandard.ZstdDecompressor().decompress(blob[frame.stored_offset :][: frame.stored_length])
        assert (len(data), hashlib.sha256(data).hexdigest()) == (frame.length, frame.sha256) and any(data)
        assert not any(frame.offset < edge < frame.offset + frame.length for edge in (start, end))
        again[frame.offset : frame.offset + frame.length] = data
    assert again == raw and manifest.size_bytes == len(raw)
    assert list(manifest.frames) == sorted(manifest.frames, key=lambda frame: frame.offset)
    assert hashlib.sha256(blob).hexdigest() == manifest.blob_sha256


def test_the_same_disk_gives_the_same_bytes_and_a_changed_one_another_digest(tmp_path: Path) -> None:
    """Manifest and blob are equal byte by byte in two folders; one changed byte changes the digest, and only its own frame."""
    disk = bytes(range(256)) * 100
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    first, second = (_cut(folder, disk, 0, FRAME) for folder in folders[:2])
    assert first.digest == second.digest
    assert [(folders[0] / name).read_bytes() for name in (MANIFEST, BLOB)] == [
        (folders[1] / name).read_bytes() for name in (MANIFEST, BLOB)
    ]
    other = _cut(folders[2], disk[:-1] + b"\x01", 0, FRAME)
    assert other.digest != first.digest
    assert [frame.sha256 for frame in other.manifest.frames[:-1]] == [frame.sha256 for frame in first.manifest.frames[:-1]]


def test_an_image_is_whole_or_not_there(tmp_path: Path) -> None:
    """A build that dies leaves nothing that looks built, and the former image of that name stays."""
    images = FolderImageStore(tmp_path)
    built = images.put(NAME, make)

    def dies(folder: Path) -> BuiltImage:
        make(folder)
        raise KeyboardInterrupt

    for name in (NAME, "other@1"):
        with pytest.raises(KeyboardInterrupt):
            images.put(name, dies)
    assert images.names() == (NAME,) and images.verify(NAME) == built
    assert [path.name for path in (tmp_path / "images-built").iterdir()] == [NAME]


def test_an_altered_image_is_refused_by_the_server(tmp_path: Path) -> None:
    """A flipped bit is found by reading, a short blob and a broken manifest at once; an altered manifest is no longer the image ordered."""
    images = FolderImageStore(tmp_path)
    built = images.put(NAME, make)
    blob, manifest = Path(images.blob_path(built.digest)), tmp_path / "images-built" / NAME / MANIFEST
    whole, text = blob.read_bytes(), manifest.read_bytes()
    blob.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(InputError, match="another digest"):
        images.verify(NAME)
    blob.write_bytes(whole[:-1])
    with pytest.raises(InputError, match="altered"):
        images.find(NAME)
    blob.write_bytes(whole)
    for broken in (b"", b"{", text.replace(b'"frames"', b'"rames"'), b"[" * 5000):
        manifest.write_bytes(broken)
        with pytest.raises(InputError, match="altered"):
            images.find(NAME)
    manifest.write_bytes(text.replace(b"a=1", b"a=2"))
    for look in (images.manifest_bytes, images.blob_path):
        with pytest.raises(InputError, match="no built image"):
            look(built.digest)


@pytest.mark.parametrize("name", ["../x@1", ".x@1", "a/b@1", "nothing@1"])
def test_a_name_that_leaves_the_folder_or_is_not_built_is_refused(tmp_path: Path, name: str) -> None:
    """InputError with a hint, never another file."""
    with pytest.raises(InputError):
        FolderImageStore(tmp_path).find(name)


def test_an_altered_manifest_is_refused_by_the_agent(tmp_path: Path) -> None:
    """By its digest, whatever was altered."""
    built = make(tmp_path)
    data = (tmp_path / MANIFEST).read_bytes()
    assert read_manifest(data, built.digest) == built
    with pytest.raises(BadImage, match="ordered is"):
        read_manifest(data.replace(b"a=1", b"a=2"), built.digest)


def _with_frame(number: int, **changes: Any) -> Any:
    def change(found: dict[str, Any]) -> None:
        found["frames"][number].update(changes)

    return change


@pytest.mark.parametrize(
    "change",
    [
        _with_frame(1, offset=0),
        _with_frame(0, offset=-4096),
        _with_frame(0, length=0),
        _with_frame(0, length=MAX_FRAME_BYTES + 1),
        _with_frame(0, stored_length=0),
        _with_frame(0, stored_offset=-1),
        _with_frame(-1, length=1 << 24),
        _with_frame(0, offset="0"),
        _with_frame(0, colour="red"),
        lambda found: found.update(frames=[]),
        lambda found: found.update(frames={"a": 1}),
        lambda found: found.update(size_bytes="big"),
        lambda found: found.pop("name"),
        lambda found: found.update(name=5),
        lambda found: found.update(system_offset=-1),
        lambda found: found.update(system_length=1 << 40),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused_even_if_it_was_ordered(tmp_path: Path, change: Any) -> None:
    """Frames that overlap, are empty, too large, outside the image or no frames: nothing is written."""
    make(tmp_path)
    found = json.loads((tmp_path / MANIFEST).read_bytes())
    change(found)
    _refused(json.dumps(found).encode())


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"null", b"[]", b'{"frames": 5}', b"[" * 200_000], ids=["empty", "no text", "null", "list", "no frames", "deep"]
)
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    """BadImage and nothing else, so that the operation fails in words."""
    _refused(data)


def _refused(data: bytes) -> None:
    with pytest.raises(BadImage):
        read_manifest(data, "sha256:" + hashlib.sha256(data).hexdigest())


def _cut(folder: Path, disk: bytes, system_offset: int, system_length: int) -> BuiltImage:
    raw = folder / "raw"
    raw.write_bytes(disk)
    image = RawImage(path=raw, name="x", version="1", builder="test", system_offset=system_offset, system_length=system_length)
    return cut(image, folder, frame_bytes=FRAME)
