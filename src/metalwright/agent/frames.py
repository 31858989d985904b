"""Fetches frames, checks each, writes and flushes it: several side by side, so that network, CPU and disk are busy at the same time."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from metalwright.agent.fetch import Fetch
from metalwright.agent.manifest import BadImage
from metalwright.agent.threads import all_or_none, in_thread
from metalwright.model.image import Frame

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine, DiskPort

SIDE_BY_SIDE = 4
"""Frames between the first byte written and the end of their flush: what a loss of power may cost."""
FETCHED_AHEAD = 4
MEMORY_BYTES = 256 << 20
"""Bound of all frames in hand, for images with large frames."""
TRIES = 3
"""A frame that arrives damaged is fetched again: it costs a frame, giving up costs the whole write."""


class FrameWriter:
    """Writes frames of one image to one disk. `on_flushed` hears which frames are on the medium."""

    def __init__(self, machine: "BootedMachine", disk: "DiskPort", fetch: Fetch, on_flushed: Callable[[Sequence[int]], None]) -> None:
        self._machine, self._disk, self._fetch, self._on_flushed = machine, disk, fetch, on_flushed
        self._slots = asyncio.Semaphore(SIDE_BY_SIDE)
        self._flushing = asyncio.Lock()
        self._unflushed: list[int] = []

    async def write(self, frames: Sequence[tuple[int, Frame]]) -> None:
        """All of them, flushed. The first alone before any other: a later write tells by it whether looking for more is worth it."""
        await self._work(iter(frames[:1]))
        rest = iter(frames[1:])
        largest = max((frame.length + frame.stored_length for _, frame in frames), default=1)
        count = max(1, min(SIDE_BY_SIDE + FETCHED_AHEAD, MEMORY_BYTES // largest, len(frames)))
        await all_or_none([asyncio.create_task(self._work(rest)) for _ in range(count)])

    async def _work(self, frames: Iterator[tuple[int, Frame]]) -> None:
        """Takes the next frame of an iterator that its neighbours share."""
        with self._fetch.connection() as source:
            for index, frame in frames:
                stored = await self._fetch.frame(source, frame)
                async with self._slots:
                    for left in reversed(range(TRIES)):
                        try:
                            await in_thread(unpack_and_write, self._machine, self._disk, frame, stored)
                            break
                        except BadImage:
                            if not left:
                                raise
                        stored = await self._fetch.frame(source, frame)
                    await self._flush(index)

    async def _flush(self, index: int) -> None:
        """Until this frame is on the medium. Frames that become ready during a flush share the next one."""
        self._unflushed.append(index)
        async with self._flushing:
            if index in self._unflushed:
                covered, self._unflushed = self._unflushed, []
                await in_thread(self._disk.flush)
                self._on_flushed(covered)


def unpack_and_write(machine: "BootedMachine", disk: "DiskPort", frame: Frame, stored: bytes) -> None:
    """A frame that does not match its digest is never written."""
    try:
        raw = machine.decompress(stored, frame.length)
    except ValueError as error:
        raise BadImage(f"frame at {frame.offset}: {error}") from error
    if len(raw) != frame.length or hashlib.sha256(raw).hexdigest() != frame.sha256:
        raise BadImage(f"frame at {frame.offset}: its bytes do not have the manifest's digest")
    disk.write(frame.offset, raw)
