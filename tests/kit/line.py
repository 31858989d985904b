"""A TCP line between a worker and its database that can be cut: nothing is refused or closed, nothing comes through any more."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator


class Line:
    """Forwards `port` to a server on loopback, in a thread of its own."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._open.set()
        self.port = 0

    def cut(self) -> None:
        """From now on every byte waits, on old connections and on new ones."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def mend(self) -> None:
        """What waited goes on."""
        self._loop.call_soon_threadsafe(self._open.set)

    async def serve(self, is_ready: threading.Event, over: asyncio.Event) -> None:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        is_ready.set()
        await over.wait()
        server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
            await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._open.wait()
                sink.write(data)
                await sink.drain()
        finally:
            sink.close()


@contextlib.contextmanager
def line_to(server_port: int) -> Iterator[Line]:
    """A line while the block runs."""
    line, is_ready, over = Line(server_port), threading.Event(), asyncio.Event()
    loop = line._loop

    def run() -> None:
        loop.run_until_complete(line.serve(is_ready, over))
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert is_ready.wait(10)
    try:
        yield line
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
