"""Gets an image's manifest and frames from the boot listener. Patient with a server that is away, not with one that says no."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from metalwright.agent.http_client import HttpClient, HttpError
from metalwright.agent.manifest import MAX_MANIFEST_BYTES, BadImage, read_manifest
from metalwright.model.image import Frame, ImageManifest

BUFFER_BYTES = 1 << 20
REQUEST_S = 120.0
MAX_PAUSE_S = 5.0
FIRST_PAUSE_S = 0.2
AWAY = frozenset((408, 425, 429, 500, 502, 503, 504))


class Fetch:
    """One image at one server. `stop` is called before every try and may raise: nothing here gives up by itself while the server is away,
    since a write that waits loses nothing, and one that fails is begun again from the start."""

    def __init__(self, images_url: str, image_digest: str, stop: Callable[[], None]) -> None:
        self._url, self._digest, self._stop = images_url, image_digest, stop
        self._folder = f"/images/{image_digest.removeprefix('sha256:')}"

    @contextlib.contextmanager
    def connection(self) -> Iterator[HttpClient]:
        """Closed at the end of the block. BadImage when the address is none."""
        try:
            client = HttpClient(self._url, buffer_bytes=BUFFER_BYTES)
        except ValueError as error:
            raise BadImage(str(error)) from error
        try:
            yield client
        finally:
            client.close()

    async def manifest(self) -> ImageManifest:
        """The ordered one and no other; BadImage."""
        with self.connection() as source:
            data = await self._get(source, f"{self._folder}/manifest.json", {}, MAX_MANIFEST_BYTES, 200)
        return read_manifest(data, self._digest).manifest

    async def frame(self, source: HttpClient, frame: Frame) -> bytes:
        """As stored: not checked yet."""
        wanted = {"Range": f"bytes={frame.stored_offset}-{frame.stored_offset + frame.stored_length - 1}"}
        return await self._get(source, f"{self._folder}/frames.zst", wanted, frame.stored_length, 206)

    async def _get(self, source: HttpClient, path: str, headers: dict[str, str], limit: int, status: int) -> bytes:
        pause = FIRST_PAUSE_S
        while True:
            self._stop()
            try:
                answer = await source.request("GET", path, headers=headers, limit=limit, timeout_s=REQUEST_S)
                if answer.status == status:
                    return answer.body
                if answer.status not in AWAY:
                    raise BadImage(f"GET {path}: status {answer.status}, wanted {status}")
            except HttpError:
                pass
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_S)
