"""The image writer: identity first, every frame checked, any interruption survived, nothing written twice without need."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from metalwright.agent.manifest import BadImage
from metalwright.agent.write_image import Cancelled, Standing, WriteRefused, write_image
from metalwright.model import node_data
from metalwright.model.agent_messages import WrittenImage
from metalwright.model.image import BuiltImage
from tests.fast.agent.image_server import DISK_BYTES, Machine, MemoryDisk, PowerCut, image_server, order


def quiet(_: Standing) -> None:
    return


def never() -> bool:
    return False


def holds_image(disk: MemoryDisk, built: BuiltImage) -> bool:
    """Every frame right, every byte between frames zero, the slot filled: on the medium, not in a cache."""
    end = 0
    for frame in built.manifest.frames:
        raw = bytes(disk.flushed[frame.offset : frame.offset + frame.length])
        if any(disk.flushed[end : frame.offset]) or hashlib.sha256(raw).hexdigest() != frame.sha256:
            return False
        end = frame.offset + frame.length
    slot = bytes(disk.flushed[node_data.slot_offset(DISK_BYTES) :][: node_data.SLOT_BYTES])
    return not any(disk.flushed[end : built.manifest.size_bytes]) and node_data.unpack(slot) is not None


def test_a_whole_image_is_written_and_read_back(tmp_path: Path) -> None:
    """Every frame verified on the medium, gaps zeroed over old data, node data beside it."""

    async def scene() -> tuple[WrittenImage, bool]:
        async with image_server(tmp_path) as (built, url, _):
            disk = MemoryDisk()
            seen = []

            def note(standing: Standing) -> None:
                flushed = sum(
                    hashlib.sha256(bytes(disk.flushed[frame.offset : frame.offset + frame.length])).hexdigest() == frame.sha256
                    for frame in built.manifest.frames
                )
                seen.append((standing.bytes_done, standing.bytes_total, standing.frames_done <= flushed))

            written = await write_image(Machine(disk), order(built, url), note, never)
            assert seen[-1][0] == seen[-1][1] and all(true for _, _, true in seen), "progress was told before a flush"
            return written, holds_image(disk, built)

    written, whole = asyncio.run(scene())
    assert whole and not written.mismatches and written.frames_verified == written.frames_total


@pytest.mark.parametrize(
    ("change", "serial", "words"),
    [
        ({"serial": "OTHER"}, "SER1", "the order is for OTHER"),
        ({}, "", "serial none"),
        ({"disk_serial": "OTHER"}, "SER1", "no disk with serial OTHER"),
        ({"disk_serial": ""}, "SER1", "names no disk"),
    ],
)
def test_nothing_is_written_without_identity(tmp_path: Path, change: dict[str, str], serial: str, words: str) -> None:
    """A wrong machine, a machine without a serial, a wrong disk: refused before the first byte."""

    async def scene() -> MemoryDisk:
        async with image_server(tmp_path) as (built, url, _):
            disk = MemoryDisk()
            with pytest.raises(WriteRefused, match=words):
                await write_image(Machine(disk, serial=serial), order(built, url, **change), quiet, never)
            return disk

    assert asyncio.run(scene()).writes == 0


def test_an_interrupted_write_is_resumed_not_redone(tmp_path: Path) -> None:
    """The power goes at every write in turn; the next attempt ends with the whole image, and keeps the frames that were flushed."""

    async def scene() -> None:
        async with image_server(tmp_path) as (built, url, _):
            whole = MemoryDisk()
            await write_image(Machine(whole), order(built, url), quiet, never)
            for cut in range(1, whole.writes):
                disk = MemoryDisk(fail_after=cut)
                with pytest.raises(PowerCut):
                    await write_image(Machine(disk), order(built, url), quiet, never)
                right = {
                    frame.offset
                    for frame in built.manifest.frames
                    if hashlib.sha256(bytes(disk.flushed[frame.offset : frame.offset + frame.length])).hexdigest() == frame.sha256
                }
                first = built.manifest.frames[0].offset in right
                resumed = MemoryDisk(flushed=disk.flushed)
                await write_image(Machine(resumed), order(built, url, operation="1/0/2"), quiet, never)
                assert holds_image(resumed, built), f"cut at write {cut}"
                assert not first or not right & set(resumed.written_offsets), f"cut at write {cut}: a right frame was written again"

    asyncio.run(scene())


def test_a_half_written_disk_does_not_look_installed(tmp_path: Path) -> None:
    """The node-data slot of an earlier installation is cleared before the first frame."""

    async def scene() -> None:
        async with image_server(tmp_path) as (built, url, _):
            disk = MemoryDisk()
            await write_image(Machine(disk), order(built, url), quiet, never)
            disk.flushed[: 4 << 20] = bytes(4 << 20)
            disk.fail_after, disk.writes = 2, 0
            with pytest.raises(PowerCut):
                await write_image(Machine(disk), order(built, url), quiet, never)
            assert node_data.unpack(bytes(disk.flushed[node_data.slot_offset(DISK_BYTES) :][: node_data.SLOT_BYTES])) is None

    asyncio.run(scene())


def test_altered_bytes_are_never_written(tmp_path: Path) -> None:
    """A blob with one changed byte: the frame is refused, by its digest or by zstd."""

    async def scene() -> None:
        async with image_server(tmp_path) as (built, url, blob):
            data = bytearray(blob.read_bytes())
            frame = built.manifest.frames[-1]
            data[frame.stored_offset + frame.stored_length // 2] ^= 1
            blob.write_bytes(data)
            disk = MemoryDisk()
            with pytest.raises(BadImage, match=f"frame at {frame.offset}"):
                await write_image(Machine(disk), order(built, url), quiet, never)
            assert frame.offset not in disk.written_offsets

    asyncio.run(scene())


def test_another_manifest_than_ordered_is_refused(tmp_path: Path) -> None:
    """The manifest's digest is the order's, or nothing is written."""

    async def scene() -> None:
        async with image_server(tmp_path) as (built, url, blob):
            manifest = blob.parent / "manifest.json"
            disk = MemoryDisk()
            wanted = order(built, url)
            manifest.write_bytes(manifest.read_bytes().replace(b'"small"', b'"smalL"'))
            with pytest.raises((BadImage, WriteRefused)):
                await write_image(Machine(disk), wanted, quiet, never)
            assert disk.writes == 0

    asyncio.run(scene())


def test_a_disk_that_is_too_small_is_refused(tmp_path: Path) -> None:
    """The image and the node-data slot must both fit."""

    async def scene() -> None:
        async with image_server(tmp_path) as (built, url, _):
            disk = MemoryDisk(size_bytes=9 << 20)
            with pytest.raises(WriteRefused, match="the image needs"):
                await write_image(Machine(disk), order(built, url), quiet, never)
            assert disk.writes == 0

    asyncio.run(scene())


def test_a_cancelled_write_stops_at_a_frame(tmp_path: Path) -> None:
    """Cancel is honoured between batches, and the disk then does not look installed."""

    async def scene() -> None:
        async with image_server(tmp_path) as (built, url, _):
            disk = MemoryDisk()
            asked = []

            def wanted() -> bool:
                asked.append(1)
                return len(disk.written_offsets) > 3

            with pytest.raises(Cancelled):
                await write_image(Machine(disk), order(built, url), quiet, wanted)
            assert not holds_image(disk, built)

    asyncio.run(scene())


def test_a_disk_that_lies_is_found_by_reading_back(tmp_path: Path) -> None:
    """A medium that loses a frame after the flush: mismatches are reported and no node data is written."""

    class Lying(MemoryDisk):
        def flush(self) -> None:
            super().flush()
            if self.writes > 4:
                self.flushed[3 << 20 : (3 << 20) + 100] = b"\x55" * 100

    async def scene() -> tuple[WrittenImage, MemoryDisk]:
        async with image_server(tmp_path) as (built, url, _):
            disk = Lying()
            return await write_image(Machine(disk), order(built, url), quiet, never), disk

    written, disk = asyncio.run(scene())
    assert written.mismatches
    assert node_data.unpack(bytes(disk.flushed[node_data.slot_offset(DISK_BYTES) :][: node_data.SLOT_BYTES])) is None


def test_the_same_recipe_gives_the_same_digest(tmp_path: Path) -> None:
    """Images are reproducible: two builds in two folders have one digest, another seed has another."""

    async def digest(folder: Path) -> str:
        folder.mkdir()
        async with image_server(folder) as (built, _, _):
            return built.digest

    assert asyncio.run(digest(tmp_path / "a")) == asyncio.run(digest(tmp_path / "b"))
