"""The boot listener: iPXE scripts, the RAM disk, images by ranges. Plain HTTP: everything here is public, signed or once-only.

| path | answer |
|---|---|
| `/boot/<mac>.ipxe` | what this machine boots now |
| `/ramdisk/vmlinuz`, `/ramdisk/initrd` | the RAM disk |
| `/ipxe/<file>` | loaders for UEFI HTTP boot |
| `/images/<hex>/manifest.json`, `/images/<hex>/frames.zst` | an image, with ranges |
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metalwright.endpoints.asgi import Receive, Refusal, Scope, Send, answer, header
from metalwright.endpoints.ipxe import BootAddresses, render
from metalwright.model.boot import BootRam
from metalwright.model.errors import InputError, TemporaryError
from metalwright.model.ids import Digest
from metalwright.model.spec import NodeSpec
from metalwright.model.tokens import token_for
from metalwright.planner.netboot import decide_boot
from metalwright.ports import Clock, EndpointStore, ImageStore

CHUNK = 256 * 1024
SCRIPT = re.compile(r"/boot/([0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5})\.ipxe$")
IMAGE = re.compile(r"/images/([0-9a-f]{64})/(manifest\.json|frames\.zst)$")
RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class BootApp:
    """An ASGI application. `node_of_mac`: lower case with colons → node, None for a stranger. `files`: path → file on disk."""

    store: EndpointStore
    images: ImageStore
    clock: Clock
    addresses: BootAddresses
    boot_key: bytes
    node_of_mac: Callable[[str], NodeSpec | None]
    files: Mapping[str, Path]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            if scope["method"] not in ("GET", "HEAD"):
                raise Refusal(status=405, reason="GET only")
            await self._get(scope, send)
        except Refusal as refusal:
            await answer(send, refusal.status, refusal.reason.encode())
        except TemporaryError as error:
            await answer(send, 503, error.message.encode())

    async def _get(self, scope: Scope, send: Send) -> None:
        path = scope["path"]
        if match := SCRIPT.match(path):
            await answer(send, 200, (await self._script(match[1])).encode())
        elif match := IMAGE.match(path):
            await self._image(scope, send, Digest(f"sha256:{match[1]}"), match[2])
        elif path in self.files:
            await _file(scope, send, self.files[path])
        else:
            raise Refusal(status=404, reason="nothing here")

    async def _script(self, mac: str) -> str:
        node = self.node_of_mac(mac.lower().replace("-", ":"))
        grants = await self.store.grants_of(node.name) if node else ()
        decision = decide_boot(node, grants, self.clock.now())
        token = token_for(self.boot_key, decision.grant) if isinstance(decision, BootRam) else ""
        return render(decision, self.addresses, token)

    async def _image(self, scope: Scope, send: Send, digest: Digest, part: str) -> None:
        try:
            if part == "manifest.json":
                await answer(send, 200, self.images.manifest_bytes(digest), content_type="application/json")
            else:
                await _file(scope, send, Path(self.images.blob_path(digest)))
        except InputError as error:
            raise Refusal(status=404, reason=error.message) from error


async def _file(scope: Scope, send: Send, path: Path) -> None:
    """A file or one range of it, in chunks read off the loop."""
    try:
        size = path.stat().st_size  # noqa: ASYNC240  # a stat of a local file
        start, end, status = _range(header(scope, "range"), size)
        headers = [(b"content-length", str(end - start).encode()), (b"accept-ranges", b"bytes")]
        if status == 206:
            headers.append((b"content-range", f"bytes {start}-{end - 1}/{size}".encode()))
        with path.open("rb") as file:
            file.seek(start)
            await send({"type": "http.response.start", "status": status, "headers": headers})
            left = 0 if scope["method"] == "HEAD" else end - start
            while left > 0 and (chunk := await asyncio.to_thread(file.read, min(CHUNK, left))):
                left -= len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": left > 0})
            if scope["method"] == "HEAD" or end == start:
                await send({"type": "http.response.body", "body": b""})
    except OSError as error:
        raise Refusal(status=404, reason="not there") from error


def _range(text: str, size: int) -> tuple[int, int, int]:
    """(start, end, status); Refusal 416 for a range outside the file. Anything but one plain range is the whole file."""
    match = RANGE.match(text)
    if not match:
        return 0, size, 200
    start, last = int(match[1]), int(match[2]) if match[2] else size - 1
    if start >= size or last < start:
        raise Refusal(status=416, reason=f"the file has {size} bytes")
    return start, min(last + 1, size), 206
