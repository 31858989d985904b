"""A simulated site of a test's own: its folder, its loopback addresses, its simulator process, and what that saw happen.

Each site lives in its own 127.x.y.0/24, so that tests run side by side: BMCs at .1, .2, …, both listeners at .254.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.site_folder import read_site
from metalwright.drivers.images.store import FolderImageStore
from metalwright.evidence.verify import VerifyReport, verify_bundle
from metalwright.model.image import ImageManifest
from metalwright.service import records
from metalwright.service.image_work import build_images
from metalwright.simulator.control import ask
from metalwright.simulator.diary import Deed, read_diary

METALWRIGHT = (sys.executable, "-m", "metalwright.cli.main")
IMAGE = "trainer@2026.12"
_A_MOMENT = threading.Event()


def wait_until(what: str, is_so: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait on a state; the failure names it."""
    until = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until, f"not within {within_s:.0f} s: {what}"
        _A_MOMENT.wait(0.05)


@dataclass(kw_only=True)
class SimulatedSite:
    """`block` is the first three bytes of its addresses: `127.91.4`."""

    folder: Path
    block: str
    simulator: "Simulator" = field(init=False)

    def __post_init__(self) -> None:
        self.simulator = Simulator(self.folder)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(str(node.name) for node in read_site(self.folder).spec.nodes)

    @property
    def manifest(self) -> ImageManifest:
        return FolderImageStore(self.folder).find(IMAGE).manifest

    def metalwright(self, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        """One verb, to its end."""
        return subprocess.run([*METALWRIGHT, *words], capture_output=True, text=True, timeout=120, check=False, **options)

    def verified(self) -> VerifyReport:
        """Export the bundle and verify it with the trust file alone."""
        bundle, trust = self.folder / "evidence.bundle", self.folder / "trust.json"
        asyncio.run(records.export(self.folder, bundle, trust))
        return verify_bundle(bundle.read_bytes(), trust.read_bytes(), time.time())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the store's tables hold, asked past the store."""
        url = os.environ.get("METALWRIGHT_DATABASE")
        if url:
            with psycopg.connect(url) as server:
                return server.execute(query).fetchall()
        with contextlib.closing(sqlite3.connect(self.folder / ".metalwright" / "site.db")) as file:
            return file.execute(query).fetchall()

    def orders_done(self) -> list[int]:
        """Numbers of the work orders whose every step is proven."""
        proven = Counter(order for (order,) in self.rows("SELECT order_number FROM runs WHERE state = 'proven'"))
        return [number for number, body in self.rows("SELECT number, body FROM orders") if proven[number] == len(json.loads(body)["steps"])]

    def records(self) -> list[records.Record]:
        """Every record of the log."""
        return asyncio.run(records.read_records(self.folder))


class Simulator:
    """The process behind a site's BMCs and machines."""

    def __init__(self, site: Path) -> None:
        self._site, self._state = site, site / ".simulator"
        self._process: subprocess.Popen[bytes] | None = None
        self._arguments: tuple[str, ...] = ()

    def start(self, *, speed: float = 20.0, disk_mb_s: float = 0.0) -> None:
        """Ready when this returns."""
        self._arguments = ("--speed", str(speed), "--disk-mb-s", str(disk_mb_s))
        self.start_again()

    def start_again(self) -> None:
        """As before, on the same state."""
        self._state.mkdir(exist_ok=True)
        output = self._state / "output.txt"
        command = [*METALWRIGHT, "simulate", "serve", str(self._site), "--state", str(self._state), *self._arguments]
        with output.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        process = self._process
        wait_until("the simulator is ready", lambda: process.poll() is not None or "ready" in output.read_text())
        assert process.poll() is None, output.read_text()

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9: nothing that was not flushed survives."""
        self._end(signal.SIGKILL)

    def _end(self, how: int) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def act(self, name: str, node: str, **arguments: object) -> None:
        words = {key: str(value) for key, value in arguments.items()}
        ask(self._state, {"do": "act", "name": name, "node": node, "arguments": words})

    def deeds(self, node: str) -> list[Deed]:
        """What happened to the machine, oldest first."""
        return list(read_diary(self._state / "nodes" / node))

    def starts(self, node: str) -> int:
        """How often it was powered on or reset."""
        return sum(deed.did == "start" for deed in self.deeds(node))

    def frame_writes(self, node: str, manifest: ImageManifest) -> Counter[int]:
        """Frame's offset → how often it was written."""
        offsets = {frame.offset for frame in manifest.frames}
        return Counter(deed.offset for deed in self.deeds(node) if deed.did == "write" and deed.offset in offsets)

    def bytes_written(self, node: str) -> int:
        return sum(deed.length for deed in self.deeds(node) if deed.did == "write")


@contextlib.contextmanager
def simulated_site(folder: Path, *, nodes: int = 2, racks: int = 1, image_mib: int = 64, frame_mib: int = 4) -> Iterator[SimulatedSite]:
    """A fresh, valid site folder with its image built; its simulator is not started, and is stopped at the end. `racks` are shards."""
    with _own_block() as block:
        write_scaffold(folder, "simulated", nodes=nodes, name="chaos")
        _edit(folder / "nodes.csv", lambda text: _placed(text.replace("127.0.10.", f"{block}."), racks))
        _edit(folder / "site.yaml", lambda text: _racks(text.replace("//127.0.0.1:", f"//{block}.254:"), racks))
        _edit(folder / "images" / "trainer.yaml", lambda text: _image(text, image_mib, frame_mib))
        build_images(folder, None, lambda _: None)
        site = SimulatedSite(folder=folder, block=block)
        try:
            yield site
        finally:
            site.simulator.stop()


def _edit(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text()))


def _image(recipe: str, image_mib: int, frame_mib: int) -> str:
    return re.sub("frame_mib: .*", f"frame_mib: {frame_mib}", re.sub("size_mib: .*", f"size_mib: {image_mib}", recipe))


def _placed(nodes_csv: str, racks: int) -> str:
    """Node by node into the racks, in turn."""
    header, *rows = nodes_csv.splitlines()
    placed = [re.sub(r",r\d+,", f",r{index % racks + 1:02d},", row, count=1) for index, row in enumerate(rows)]
    return "\n".join([header, *placed]) + "\n"


def _racks(site_yaml: str, racks: int) -> str:
    """The scaffold's one rack, as often as wanted."""
    one = re.search(r"  - name: r01\n(?:    .*\n)+", site_yaml)
    assert one is not None
    return site_yaml.replace(one[0], "".join(one[0].replace("r01", f"r{index + 1:02d}") for index in range(racks)))


@contextlib.contextmanager
def _own_block() -> Iterator[str]:
    """A /24 of 127/8 that no other test holds: whoever is bound to its .253 has it."""
    start = os.getpid()
    for number in range(start, start + 20_000):
        block = f"127.{64 + number // 250 % 128}.{number % 250 + 1}"
        holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with contextlib.closing(holder):
            try:
                holder.bind((f"{block}.253", 9443))
            except OSError:
                continue
            yield block
            return
    raise AssertionError("every block of 127/8 is in use")
