"""Our image writer beside `curl | zstd -d | dd oflag=direct`, `qemu-img convert` and bmaptool: one image, one disk, in turns.

    python benchmarks/image_write.py                      # 1 GiB image, a file on a loop device (root), else a plain file
    python benchmarks/image_write.py --mib 4096 --disk /dev/nvme1n1 --rounds 5    # overwrites that disk

The image is made like a system: 60 % of it in use, of which half compresses to nothing. Every writer starts on a disk full of other bytes,
and is done when its bytes are flushed. Ours also checks each frame before and zeroes what lies between; `read back` adds reading the whole
image from the disk. In the same rounds the two limits: the same bytes written raw, and unpacked on all cores without any disk. Tools that
are not installed are named and left out.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from metalwright.agent.linux_disk import LinuxDisk
from metalwright.agent.write_image import write_image
from metalwright.agent.zstd import unpack
from metalwright.drivers.images.format import BLOB, MIB, RawImage, cut
from metalwright.model.agent_messages import AgentOrder, RawInventory
from metalwright.model.image import BuiltImage
from metalwright.model.node_data import NodeData

FRAME_MIB = 4
IN_USE = 0.6
SPARE_MIB = 8
"""The disk is larger than the image: the node-data slot lies at its end."""
SERVER = """
import functools, http.server, os, re, sys
class Ranges(http.server.SimpleHTTPRequestHandler):
    protocol_version, log_message = "HTTP/1.1", lambda *_: None
    def do_GET(self):
        with open(self.translate_path(self.path), "rb") as file:
            size, match = os.fstat(file.fileno()).st_size, re.match(r"bytes=(\\d+)-(\\d+)", self.headers.get("Range", ""))
            start, end = (int(match[1]), int(match[2]) + 1) if match else (0, size)
            self.send_response(206 if match else 200)
            self.send_header("Content-Length", str(end - start))
            self.end_headers()
            self.wfile.flush()
            while start < end:
                start += os.sendfile(self.connection.fileno(), file.fileno(), start, end - start)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=sys.argv[1]))
print(server.server_port, flush=True)
server.serve_forever()
"""
"""Any server of plain ranges will do; this one gives all writers the same, by sendfile(2)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--disk", help="a disk to overwrite")
    parser.add_argument("--write", nargs=4, metavar=("URL", "DIGEST", "DISK", "PERCENT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        print(json.dumps(write_ours(*args.write)))
        return
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name, disk_of(Path(name), args.mib, args.disk) as disk:
        compare(Path(name), disk, args.mib, args.rounds)


def compare(folder: Path, disk: str, mib: int, rounds: int) -> None:
    """Prints a row per writer: MB/s of the image's bytes in use, median and range."""
    built, raw = make_image(folder, mib)
    used = sum(frame.length for frame in built.manifest.frames)
    print(f"image {mib} MiB, {used / 1e6:.0f} MB in use; disk {disk}; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}", flush=True)
    with serving(folder) as url:
        contestants = writers(folder, url, disk, built, raw)
        speeds: dict[str, list[float]] = {name: [] for name in contestants}
        memory = 0.0
        for _ in range(rounds):
            for name, run in contestants.items():
                soil(disk, mib)
                began = time.monotonic()
                answer = run() or {}
                speeds[name].append(used / 1e6 / (answer.get("seconds") or time.monotonic() - began))
                memory = max(memory, answer.get("kib", 0))
    for name, each in speeds.items():
        print(f"{name:42} {statistics.median(each):7.0f} MB/s   {min(each):.0f} to {max(each):.0f}")
    print(f"memory of our writer: {memory / 1024:.0f} MiB")


def writers(folder: Path, url: str, disk: str, built: BuiltImage, raw: Path) -> Mapping[str, Callable[[], dict[str, float] | None]]:
    """Name → what writes the image once. Limits first."""
    ours = [sys.executable, __file__, "--write", url, built.digest, disk]
    found: dict[str, Callable[[], dict[str, float] | None]] = {
        "limit: raw bytes to the disk": lambda: write_raw(disk, built),
        "limit: unpacking, no disk": lambda: unpack_all(folder, built),
        "ours": lambda: dict(json.loads(run(*ours, "0"))),
        "ours, all read back": lambda: dict(json.loads(run(*ours, "100"))),
        "curl | zstd -d | dd oflag=direct": lambda: void(
            run(
                "sh", "-ec", f"curl -sf {url}/disk.raw.zst | zstd -dcq | dd of={disk} bs=4M iflag=fullblock oflag=direct conv=fsync,notrunc"
            )
        ),
    }
    if has("qemu-img"):
        run("qemu-img", "convert", "-c", "-O", "qcow2", "-o", "compression_type=zstd", str(raw), str(folder / "disk.qcow2"))
        copy = ("qemu-img", "convert", "-n", "-W", "-m", "8", "-t", "none", "-O", "raw", str(folder / "disk.qcow2"), disk)
        found["qemu-img convert (local qcow2, zstd)"] = lambda: void(run(*copy))
    if has("bmaptool"):
        run("bmaptool", "create", "-o", str(folder / "disk.bmap"), str(raw))
        found["bmaptool copy (local .zst)"] = lambda: void(
            run("bmaptool", "-q", "copy", "--bmap", str(folder / "disk.bmap"), str(folder / "disk.raw.zst"), disk)
        )
    return found


# -- the limits and our writer ---------------------------------------------------------------------------------------------------


def write_raw(disk: str, built: BuiltImage) -> None:
    """Frames' worth of bytes, by four threads past the page cache, flushed once."""
    opened = LinuxDisk(disk, exclusive=False)
    data = random.Random(1).randbytes(FRAME_MIB * MIB)  # noqa: S311  # reproducible bytes, not a secret
    with contextlib.closing(opened), ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda frame: opened.write(frame.offset, data[: frame.length]), built.manifest.frames))
        opened.flush()


def unpack_all(folder: Path, built: BuiltImage) -> None:
    """Every frame, on all cores; nothing is checked or written."""
    blob = (folder / "images" / built.digest.removeprefix("sha256:") / BLOB).read_bytes()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(
            pool.map(
                lambda frame: len(unpack(blob[frame.stored_offset : frame.stored_offset + frame.stored_length], frame.length)),
                built.manifest.frames,
            )
        )


class Bench:
    """`ports.BootedMachine` with one disk, whatever its serial is."""

    def __init__(self, disk: str) -> None:
        self._disk = disk

    def describe(self) -> Mapping[str, str]:
        return {"system_serial": "BENCH"}

    def collect(self) -> RawInventory:
        return RawInventory(files={})

    def open_disk(self, serial: str) -> LinuxDisk:
        return LinuxDisk(self._disk, exclusive=self._disk.startswith("/dev/"))

    def decompress(self, stored: bytes, length: int) -> bytes:
        return unpack(stored, length)


def write_ours(url: str, digest: str, disk: str, percent: str) -> dict[str, Any]:
    """In a process of its own, for its memory; seconds without the start of Python, as the agent runs already."""
    data = NodeData(node="bench", agent_url=url, pin="", token="", images_url=url, image_digest=digest)
    order = AgentOrder(
        kind="write-image",
        serial="BENCH",
        disk_serial="BENCH",
        image_digest=digest,
        images_url=url,
        verify_percent=int(percent),
        node_data=json.dumps(asdict(data)),
    )
    began = time.monotonic()
    written = asyncio.run(write_image(Bench(disk), order, lambda _: None, lambda: False))
    if written.mismatches:
        raise SystemExit("the disk differs from the image")
    return {"seconds": time.monotonic() - began, "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


# -- image, disk, server ---------------------------------------------------------------------------------------------------------


def make_image(folder: Path, mib: int) -> tuple[BuiltImage, Path]:
    raw, source = folder / "disk.raw", random.Random(7)  # noqa: S311  # reproducible bytes, not a secret
    with raw.open("wb") as out:
        out.truncate(mib * MIB)
        for at in range(0, mib, 5 * FRAME_MIB):
            for index in range(at, min(mib, at + int(5 * FRAME_MIB * IN_USE))):
                out.seek(index * MIB)
                out.write(source.randbytes(MIB // 2) + b"metalwright" * (MIB // 22))
    scratch = folder / "images" / "new"
    scratch.mkdir(parents=True)
    image = RawImage(path=raw, name="bench", version="1", builder="bench", system_offset=0, system_length=0)
    built = cut(image, scratch, frame_bytes=FRAME_MIB * MIB)
    scratch.rename(folder / "images" / built.digest.removeprefix("sha256:"))
    run("zstd", "-q", "-9", str(raw))
    return built, raw


def soil(disk: str, mib: int) -> None:
    """Other bytes where the image goes in a used disk: its first gap at least must be zeroed, and no frame is there already."""
    opened = LinuxDisk(disk, exclusive=False)
    with contextlib.closing(opened):
        for at in range(0, mib, FRAME_MIB):
            opened.write(at * MIB, b"\xaa" * FRAME_MIB * MIB)
        opened.flush()


@contextlib.contextmanager
def disk_of(folder: Path, mib: int, given: str | None) -> Iterator[str]:
    """The given one; or a file, on a loop device with direct I/O where that is allowed."""
    if given:
        yield given
        return
    file = folder / "disk.img"
    run("fallocate", "-l", f"{mib + SPARE_MIB}MiB", str(file))
    try:
        device = run("losetup", "--find", "--show", "--direct-io=on", str(file)).strip()
    except subprocess.CalledProcessError:
        yield str(file)
        return
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", SERVER, str(folder)], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip() if server.stdout else ''}"
        finally:
            server.kill()


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def has(tool: str) -> bool:
    found = shutil.which(tool) is not None
    if not found:
        print(f"{tool} is not installed")
    return found


def void(_: str) -> None:
    """A tool whose own words do not matter."""


if __name__ == "__main__":
    main()
