"""Real lldpd in network namespaces: four hosts, two switches, veth cables; a swapped pair is found, and found mended."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from metalwright.gates.cabling import Compared, compare
from metalwright.model.cabling import CableFault, LinkSight
from metalwright.model.spec import CableSpec
from metalwright.readers import lldp
from tests.kit.simulated_site import wait_until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("lldpd") is None or shutil.which("ip") is None, reason="root, lldpd, iproute2"),
]
HOSTS = ("hosta", "hostb", "hostc", "hostd")
SWITCHES = ("tor1", "tor2")
PLAN = tuple(
    CableSpec(label=f"E-{host}-{switch}", a_device=host, a_port=f"eth{n}", b_device=switch, b_port=f"swp{place + 1}", fabric="mgmt")
    for n, switch in enumerate(SWITCHES)
    for place, host in enumerate(HOSTS)
)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


class Hall:
    """Namespaces `mwl-PID-NAME`, an lldpd in each."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._daemons = folder, list[subprocess.Popen[bytes]]()

    def space(self, device: str) -> str:
        return f"mwl-{os.getpid()}-{device}"

    def build(self) -> None:
        for device in (*HOSTS, *SWITCHES):
            ip("netns", "add", self.space(device))
        for number, cable in enumerate(PLAN):
            self._plug(number, (cable.a_device, cable.a_port), (cable.b_device, cable.b_port))
        for device in (*HOSTS, *SWITCHES):
            self._speak(device)

    def _plug(self, number: int, a: tuple[str, str], b: tuple[str, str]) -> None:
        ends = (f"mwa{os.getpid() % 10000}x{number}", f"mwb{os.getpid() % 10000}x{number}")
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for end, (device, port) in zip(ends, (a, b), strict=True):
            ip("link", "set", end, "netns", self.space(device))
            ip("-n", self.space(device), "link", "set", end, "name", port, "up")

    def _speak(self, device: str) -> None:
        socket = self._folder / f"{device}.sock"
        configuration = self._folder / f"{device}.conf"
        configuration.write_text("configure lldp tx-interval 1\nconfigure lldp portidsubtype ifname\n")
        shell = f"hostname {device}; exec lldpd -d -u {socket} -O {configuration} -I 'eth*,swp*'"
        command = ["ip", "netns", "exec", self.space(device), "unshare", "--uts", "sh", "-c", shell]
        self._daemons.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def neighbours(self, device: str, shape: str) -> bytes:
        command = ["lldpcli", "-u", str(self._folder / f"{device}.sock"), "-f", shape, "show", "neighbors"]
        return subprocess.run(command, capture_output=True, timeout=20, check=False).stdout

    def exchange(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        """The plugs of two ports of one device change places."""
        space = self.space(one[0])
        for old, new in ((one[1], "spare"), (other[1], one[1]), ("spare", other[1])):
            ip("-n", space, "link", "set", old, "down")
            ip("-n", space, "link", "set", old, "name", new)
            ip("-n", space, "link", "set", new, "up")

    def end(self) -> None:
        for daemon in self._daemons:
            daemon.terminate()
        for daemon in self._daemons:
            daemon.wait(10)
        for device in (*HOSTS, *SWITCHES):
            subprocess.run(["ip", "netns", "delete", self.space(device)], capture_output=True, timeout=20, check=False)

    def compared(self, shape: str) -> Compared:
        sights = []
        for device in (*HOSTS, *SWITCHES):
            sight = lldp.read(self.neighbours(device, shape), device)
            if isinstance(sight, LinkSight):
                sights.append(sight)
        return compare(PLAN, sights)


@contextmanager
def hall() -> Iterator[Hall]:
    """In a folder that the daemons' own user may enter."""
    with TemporaryDirectory(prefix="mwl-") as folder:
        Path(folder).chmod(0o755)
        made = Hall(Path(folder))
        try:
            made.build()
            yield made
        finally:
            made.end()


def until(hall: Hall, shape: str, faults: list[CableFault]) -> Compared:
    """The first comparison that shows exactly these: neighbours come and go within seconds."""
    seen: list[Compared] = []

    def is_there() -> bool:
        seen.append(hall.compared(shape))
        return [finding.fault for finding in seen[-1].findings] == faults

    wait_until(f"the neighbours show {faults or 'the plan'}", is_there, within_s=60)
    return seen[-1]


def test_a_swapped_pair_is_found_and_found_mended() -> None:
    """Green when all have spoken, in both shapes of JSON; two plugs exchanged at a switch: one finding that says so; put back: green."""
    with hall() as made:
        for shape in ("json0", "json"):
            assert until(made, shape, []).colour == "green"
        made.exchange(("tor1", "swp2"), ("tor1", "swp3"))
        (finding,) = until(made, "json0", [CableFault.SWAPPED]).findings
        assert finding.labels == ("E-hostb-tor1", "E-hostc-tor1")
        assert finding.do == "exchange the plugs in tor1 ports swp2 and swp3"
        made.exchange(("tor1", "swp2"), ("tor1", "swp3"))
        assert until(made, "json0", []).matched == len(PLAN)
