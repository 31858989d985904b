"""A simulated site from power-off to a green `inventory` gate: wall time, CPU and memory of `apply` per node count.

    python benchmarks/site_inventory.py [10 100 1000]

The limit printed beside is what the machines alone need: each one's simulated boot, which no tool can shorten. The simulator runs in a
process of its own and is not counted; on two cores it takes its share of the wall time, so CPU per node is the sound figure.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METALWRIGHT = (sys.executable, "-m", "metalwright.cli.main")
TIMEOUT_S = 1500
READY_S = 300


def measure(nodes: int, folder: Path) -> dict[str, float]:
    """One run: `apply --until inventory` over N nodes."""
    site = folder / f"site{nodes}"
    _run("init", str(site), "--kind", "simulated", "--nodes", str(nodes))
    _run("image", "build", str(site))
    with (folder / "simulator.txt").open("w") as output:
        simulator = subprocess.Popen([*METALWRIGHT, "simulate", "serve", str(site)], stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_until_ready(folder / "simulator.txt", simulator)
        began, before = time.monotonic(), os.times()
        applied = subprocess.run(
            [*METALWRIGHT, "apply", str(site), "--until", "inventory", "--json", "--timeout", str(TIMEOUT_S)],
            capture_output=True,
            text=True,
            check=False,
        )
        wall, after = time.monotonic() - began, os.times()
    finally:
        simulator.terminate()
        simulator.wait(30)
    board = json.loads(applied.stdout or "{}")
    green = sum(node["gates"].get("inventory") == "green" for node in board.get("nodes", ()))
    if applied.returncode != 0 or green != nodes:
        raise SystemExit(f"{green} of {nodes} green, exit {applied.returncode}\n{applied.stderr[-2000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_s": wall, "cpu_s": cpu, "peak_mib": _peak_mib()}


def _run(*arguments: str) -> None:
    done = subprocess.run([*METALWRIGHT, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stdout}{done.stderr}")


def _wait_until_ready(output: Path, simulator: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + READY_S
    while not re.search("^ready", output.read_text(), re.MULTILINE):
        if simulator.poll() is not None or time.monotonic() > until:
            raise SystemExit(output.read_text())
        time.sleep(0.2)


def _peak_mib() -> float:
    """Largest of the children that were waited for so far: apply of the largest site."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    counts = [int(text) for text in sys.argv[1:]] or [10, 100, 1000]
    print(f"{'nodes':>6} {'wall s':>8} {'CPU s':>8} {'CPU ms/node':>12} {'peak MiB':>9} {'per node, of the first':>22}")
    first = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for nodes in counts:
            seen = measure(nodes, Path(folder))
            per_node = 1000 * seen["cpu_s"] / nodes
            first = first or per_node
            print(
                f"{nodes:>6} {seen['wall_s']:>8.1f} {seen['cpu_s']:>8.1f} {per_node:>12.1f} "
                f"{seen['peak_mib']:>9.0f} {per_node / first:>22.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
