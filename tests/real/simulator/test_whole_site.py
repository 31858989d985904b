"""A whole simulated site under `metalwright apply`, processes and all, with a different fault on every node but one."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metalwright.codec.scaffold import write_scaffold
from metalwright.simulator.control import ask
from tests.fast.simulator.simulated_sites import free_port, loopback_network

pytestmark = pytest.mark.real

FAULTS = {
    "s2": ("second-claim", "inventory", "red", "inventory.boot-claims"),
    "s3": ("wrong-image-on-disk", "os", "red", "os.image"),
    "s4": ("wrong-kernel", "os", "red", "os.kernel"),
    "s5": ("agent-mute", "inventory", "undetermined", ""),
    "s6": ("gpu-off-bus", "inventory", "red", "inventory.witnesses-agree"),
}
"""Node → fault, the gate it stops at, its colour there, the check that says why."""
DEADLINE_S = 240


def metalwright(*words: str) -> list[str]:
    return [sys.executable, "-m", "metalwright.cli.main", *words]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A scaffold of six nodes with addresses and ports of its own, its image built."""
    folder = tmp_path / "site"
    write_scaffold(folder, "simulated", nodes=6, name="s")
    ports = {"8480": free_port(), "8443": free_port()}
    text = (folder / "site.yaml").read_text()
    for old, new in ports.items():
        text = text.replace(f":{old}", f":{new}")
    (folder / "site.yaml").write_text(text)
    nodes = (folder / "nodes.csv").read_text().replace("127.0.10.", f"{loopback_network()}.").replace(":9443", f":{free_port()}")
    for number in range(1, 7):
        nodes = nodes.replace(f"s{number:02d},", f"s{number},")
    (folder / "nodes.csv").write_text(nodes)
    subprocess.run(metalwright("image", "build", str(folder)), check=True, capture_output=True, timeout=120)
    return folder


@contextlib.contextmanager
def running(words: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours, interrupted at the end and, if it does not listen, killed."""
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(is_true: Callable[[], bool], what: Callable[[], str], seconds: float = DEADLINE_S) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, what()
        time.sleep(0.5)


def board(site: Path) -> dict[str, Any]:
    """Node → its row of `metalwright status --json`."""
    done = subprocess.run(metalwright("status", "--site", str(site), "--json"), capture_output=True, timeout=60, check=False)
    return {row["node"]: row for row in json.loads(done.stdout or b"{}").get("nodes", [])}


def test_every_node_stops_at_its_fault_and_the_others_go_on(site: Path, tmp_path: Path) -> None:
    """The intact node reaches a green os gate; each faulty one stops at the gate of its fault, and a red one names the check."""
    state, simulator_log, apply_log = site / ".simulator", tmp_path / "simulator.txt", tmp_path / "apply.txt"
    with running(metalwright("simulate", "serve", str(site), "--state", str(state)), simulator_log):
        wait_for(lambda: "ready" in simulator_log.read_text(), simulator_log.read_text, 60)
        for node, (fault, *_) in FAULTS.items():
            ask(state, {"do": "fault", "name": fault, "node": node})
        with running(metalwright("apply", str(site)), apply_log):
            wait_for(lambda: _is_settled(board(site)), lambda: json.dumps(board(site), indent=1) + apply_log.read_text()[-3000:])
        rows = board(site)
        for node, (_, _, colour, check) in FAULTS.items():
            red = rows[node]["red"]
            assert red.startswith(check) if colour == "red" else red is None, rows[node]


def _is_settled(rows: dict[str, Any]) -> bool:
    if not rows or rows["s1"]["gates"]["os"] != "green":
        return False
    return all(rows[node]["gates"][gate] == colour for node, (_, gate, colour, _) in FAULTS.items())
