"""An InfiniBand fabric of ibsim: every cable of a plan plugged in as a test says, a real subnet manager, a real ibnetdiscover."""

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from metalwright.model.spec import CableSpec
from tests.kit.simulated_site import wait_until

LIBRARY = next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"), None)
TOOLS = ("ibsim", "opensm", "ibnetdiscover")
needs_ibsim = pytest.mark.skipif(
    LIBRARY is None or any(shutil.which(tool) is None for tool in TOOLS), reason="ibsim-utils, libumad2sim0, opensm, infiniband-diags"
)
Port = tuple[str, str]


def tree(leaves: int, hosts: int, spines: int) -> tuple[CableSpec, ...]:
    """Two tiers: hosts below each leaf, one cable from each leaf to each spine."""
    plan = [
        _cable(f"H-{leaf}-{host}", (f"node{leaf * hosts + host:04}", "mlx5_0"), (f"leaf{leaf:02}", str(host + 1)))
        for leaf in range(leaves)
        for host in range(hosts)
    ]
    plan += [
        _cable(f"S-{leaf}-{spine}", (f"leaf{leaf:02}", str(hosts + spine + 1)), (f"spine{spine:02}", str(leaf + 1)))
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    return tuple(plan)


def _cable(label: str, a: Port, b: Port) -> CableSpec:
    return CableSpec(label=label, a_device=a[0], a_port=a[1], b_device=b[0], b_port=b[1], fabric="compute")


def net_file(plan: Sequence[CableSpec], moved: Mapping[str, Port], rates: Mapping[str, str]) -> str:
    """ibsim's file: the cables of the plan, the far ends of some moved, some slower."""
    ports: dict[str, list[str]] = defaultdict(list)
    for cable in plan:
        a, b = (cable.a_device, cable.a_port), moved.get(cable.label, (cable.b_device, cable.b_port))
        for near, far in ((a, b), (b, a)):
            rate = rates.get(cable.label, "4xHDR")
            ports[near[0]].append(f'[{_number(near)}] "{_node(far)}"[{_number(far)}]\t\t# "{_node(far)}" lid 1 {rate}')
    blocks = []
    for device, lines in ports.items():
        head = f'Hca 1 "{device} mlx5_0"' if device.startswith("node") else f'Switch 64 "{device}"'
        blocks.append("\n".join([head, *lines, ""]))
    return "\n".join(blocks) + "\n"


def _node(port: Port) -> str:
    return f"{port[0]} mlx5_0" if port[0].startswith("node") else port[0]


def _number(port: Port) -> str:
    return "1" if port[0].startswith("node") else port[1]


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """One that runs."""

    folder: Path
    environment: Mapping[str, str]

    def discover(self, *options: str) -> bytes:
        """What ibnetdiscover prints now."""
        return subprocess.run(["ibnetdiscover", *options], env=self.environment, capture_output=True, check=True, timeout=60).stdout

    def console(self, words: str) -> None:
        """A command of ibsim; done when its prompt comes back."""
        said = self.folder / "ibsim.out"
        prompts = said.read_text().count("sim>")
        with (self.folder / "console").open("w") as console:
            console.write(words + "\n")
        wait_until("ibsim has done it", lambda: said.read_text().count("sim>") > prompts)


@contextmanager
def fabric(folder: Path, net: str) -> Iterator[Fabric]:
    """While the block runs. Its subnet manager sweeps once."""
    (folder / "net").write_text(net)
    os.mkfifo(folder / "console")
    plain = {**os.environ, "IBSIM_SOCKNAME": f"metalwright-{os.getpid()}-{folder.name}"}
    first = next(line.partition('"')[2].rstrip('"') for line in net.splitlines() if line.startswith("Hca"))
    with os.fdopen(os.open(folder / "console", os.O_RDWR), "r+b", buffering=0) as keep, (folder / "ibsim.out").open("w") as said:
        limits = ["-N", "4096", "-S", "512", "-P", "65536"]
        simulator = subprocess.Popen(["ibsim", *limits, "-s", str(folder / "net")], stdin=keep, stdout=said, stderr=said, env=plain)
        try:
            wait_until("ibsim is ready", lambda: "sim>" in (folder / "ibsim.out").read_text())
            environment = {**plain, "LD_PRELOAD": str(LIBRARY), "SIM_HOST": first}
            manager = ["opensm", "-o", "-R", "ftree", "-f", str(folder / "opensm.log")]
            done = subprocess.run(manager, env={**environment, "OSM_TMP_DIR": str(folder)}, capture_output=True, timeout=120, check=False)
            assert done.returncode == 0, done.stdout[-500:]
            yield Fabric(folder=folder, environment=environment)
        finally:
            simulator.kill()
            simulator.wait()
