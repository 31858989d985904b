"""One image write under way: it goes on without the server, tells how far it is when there is one, and keeps its end to tell again."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from metalwright.agent.manifest import BadImage
from metalwright.agent.server_link import NotTaken, ServerLink
from metalwright.agent.write_image import Cancelled, Standing, WriteRefused, write_image
from metalwright.model.agent_messages import AgentOrder, Progress, Report, WrittenImage

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine

PROGRESS_S = 1.0
"""Progress is not told more often: a thousand writers must not flood one server."""
HEARTBEAT_S = 10.0
"""Told at least so often, whatever takes long."""


class ImageWrite:
    """An operation, from its order to the delivery of its end."""

    def __init__(self, machine: "BootedMachine", order: AgentOrder, link: ServerLink, boot_id: str, log: Callable[[str], None]) -> None:
        self._machine, self._order, self._link, self._boot_id, self._log = machine, order, link, boot_id, log
        self._standing = Standing()
        self._generation = order.generation
        self._news = asyncio.Event()
        self._is_cancelled = False
        self._end: tuple[str, str, WrittenImage | None] | None = None
        self._task = asyncio.create_task(self._run())

    @property
    def id(self) -> str:
        return self._order.operation

    def is_over(self) -> bool:
        """Ended and told. Raises what ended it unexpectedly, such as a refusal by the server."""
        if not self._task.done():
            return False
        self._task.result()
        return True

    def cancel(self) -> None:
        """Stop at the next frame."""
        self._is_cancelled = True

    def adopt(self, generation: int) -> None:
        """The same operation, asked by a later worker: it is told in that one's words."""
        self._generation = max(self._generation, generation)

    async def tell_again(self) -> None:
        """The server asks for what is done already: it did not hear the end."""
        await self._tell_end()

    async def close(self) -> None:
        """The machine ends: nothing is written any more when this returns."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        self._log(f"operation {self.id}: image {self._order.image_digest[:19]} to disk {self._order.disk_serial}")
        telling = asyncio.create_task(self._tell())
        try:
            self._end = await self._write()
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
        state, detail, _ = self._end
        self._log(f"operation {self.id} {state}{': ' if detail else ''}{detail}")
        await self._tell_end()

    async def _write(self) -> tuple[str, str, WrittenImage | None]:
        """(state, detail, result)."""
        try:
            written = await write_image(self._machine, self._order, self._note, lambda: self._is_cancelled)
        except Cancelled:
            return "cancelled", "stopped between two frames", None
        except (WriteRefused, BadImage) as why:
            return "failed", str(why), None
        if written.mismatches:
            return "failed", f"{written.mismatches} places read back from the disk differ from the image", written
        return "done", "", written

    def _note(self, standing: Standing) -> None:
        self._standing = standing
        self._news.set()

    async def _tell(self) -> None:
        """Progress while the write runs; what the server does not take is not needed."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._news.wait()
            self._news.clear()
            with contextlib.suppress(NotTaken):
                await self._link.report(self._report("running", self._standing.doing, None))
            await asyncio.sleep(PROGRESS_S)

    async def _tell_end(self) -> None:
        if self._end is not None:
            with contextlib.suppress(NotTaken):
                await self._link.report(self._report(*self._end))

    def _report(self, state: str, detail: str, written: WrittenImage | None) -> Report:
        progress = Progress(
            operation=self.id,
            generation=self._generation,
            state=state,
            units_done=self._standing.bytes_done,
            units_total=self._standing.bytes_total,
            checkpoint=f"{self._standing.frames_done} frames",
            detail=detail,
        )
        return Report(boot_id=self._boot_id, progress=progress, written=written)
