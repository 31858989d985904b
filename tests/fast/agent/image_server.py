"""An image, a disk in memory, and the real boot listener that serves the image: what the writer's tests stand on."""

import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field
from json import dumps
from pathlib import Path

import zstandard

from metalwright.drivers.images.store import FolderImageStore
from metalwright.drivers.images.synthetic import build_synthetic
from metalwright.endpoints.boot_app import BootApp
from metalwright.endpoints.ipxe import BootAddresses
from metalwright.endpoints.server import serve
from metalwright.model.agent_messages import AgentOrder, RawInventory
from metalwright.model.image import BuiltImage
from metalwright.model.node_data import NodeData
from metalwright.model.spec import ImageRecipe
from metalwright.service.clock import SystemClock
from metalwright.store import SqlStore, open_store

SERIAL, DISK = "SER1", "DISK1"
DISK_BYTES = 24 << 20
RECIPE = ImageRecipe(name="small", version="1", builder="synthetic", size_mib=8, frame_mib=1, seed=3)


class PowerCut(BaseException):
    """The machine loses power: nothing after it happens."""


@dataclass
class MemoryDisk:
    """Keeps what was flushed; `fail_after` writes the power goes, and what was not flushed is lost or torn."""

    flushed: bytearray = field(default_factory=lambda: bytearray(b"\xaa" * DISK_BYTES))
    cached: dict[int, bytes] = field(default_factory=dict)
    size_bytes: int = DISK_BYTES
    writes: int = 0
    fail_after: int | None = None
    written_offsets: list[int] = field(default_factory=list)
    is_closed: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def write(self, offset: int, data: bytes) -> None:
        with self._lock:
            assert not self.is_closed, "written after it was closed"
            self.writes += 1
            if self.fail_after is not None and self.writes > self.fail_after:
                self.flushed[offset : offset + len(data) // 2] = data[: len(data) // 2]  # a torn write
                raise PowerCut
            self.cached[offset] = bytes(data)
            self.written_offsets.append(offset)

    def read(self, offset: int, length: int) -> bytes:
        with self._lock:
            assert not self.is_closed, "read after it was closed"
            seen = bytearray(self.flushed[offset : offset + length])
            for at, data in self.cached.items():
                start, end = max(at, offset), min(at + len(data), offset + length)
                if start < end:
                    seen[start - offset : end - offset] = data[start - at : end - at]
            return bytes(seen)

    def discard(self, offset: int, length: int) -> None:
        """A drive that cannot."""

    def flush(self) -> None:
        with self._lock:
            if self.fail_after is not None and self.writes > self.fail_after:
                raise PowerCut
            for at, data in self.cached.items():
                self.flushed[at : at + len(data)] = data
            self.cached.clear()

    def close(self) -> None:
        with self._lock:
            self.is_closed = True


@dataclass
class Machine:
    """ports.BootedMachine with one disk."""

    disk: MemoryDisk
    serial: str = SERIAL

    def describe(self) -> Mapping[str, str]:
        return {
            "boot_id": "b1",
            "system_serial": self.serial,
            "uuid": "u1",
            "kernel": "k",
            "hostname": "h",
            "root_disk_serial": DISK,
        }

    def collect(self) -> RawInventory:
        return RawInventory(files={"/proc/meminfo": "MemTotal: 1024 kB\n"})

    def open_disk(self, serial: str) -> MemoryDisk:
        if serial != DISK:
            raise KeyError(serial)
        self.disk.is_closed = False
        return self.disk

    def decompress(self, stored: bytes, length: int) -> bytes:
        try:
            return zstandard.ZstdDecompressor().decompress(stored, max_output_size=length)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.asynccontextmanager
async def image_server(folder: Path) -> AsyncIterator[tuple[BuiltImage, str, Path]]:
    """(the image, its server's URL, its blob)."""
    images = FolderImageStore(folder)
    built = images.put("small@1", lambda scratch: build_synthetic(RECIPE, scratch))
    store: SqlStore = open_store(f"sqlite:///{folder / 'site.db'}")
    await store.open()
    port = free_port()
    app = BootApp(
        store=store,
        images=images,
        clock=SystemClock(),
        addresses=BootAddresses(boot_url="http://127.0.0.1:1", agent_url="https://127.0.0.1:2", pin="sha256:00"),
        boot_key=b"k" * 32,
        node_of_mac=lambda _: None,
        files={},
    )
    try:
        async with serve(app, "127.0.0.1", port):
            yield built, f"http://127.0.0.1:{port}", Path(images.blob_path(built.digest))
    finally:
        await store.close()


def order(built: BuiltImage, url: str, **changes: object) -> AgentOrder:
    slot = NodeData(node="n1", agent_url="https://x", pin="p", token="t", images_url=url, image_digest=built.digest)
    fields = {
        "kind": "write-image",
        "operation": "1/0/1",
        "serial": SERIAL,
        "disk_serial": DISK,
        "image_digest": built.digest,
        "images_url": url,
        "node_data": dumps(asdict(slot)),
    }
    return AgentOrder(**{**fields, **changes})  # type: ignore[arg-type]
