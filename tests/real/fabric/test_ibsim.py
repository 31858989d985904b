"""A two-tier tree of 64 hosts in ibsim, seen by a real ibnetdiscover: clean is green, every fault is found by name."""

from pathlib import Path

import pytest

from metalwright.gates.cabling import Compared, compare
from metalwright.model.cabling import CableFault, LinkSight
from metalwright.readers import ibnetdiscover
from tests.real.fabric.ib_fabric import Port, fabric, needs_ibsim, net_file, tree

pytestmark = [pytest.mark.real, needs_ibsim]
PLAN = tree(leaves=4, hosts=16, spines=2)


def judged(raw: bytes) -> Compared:
    sight = ibnetdiscover.read(raw)
    assert isinstance(sight, LinkSight), sight
    return compare(PLAN, [sight], {"compute": 200.0})


def told(compared: Compared) -> list[tuple[CableFault, tuple[str, ...], str]]:
    return [(finding.fault, finding.labels, finding.do) for finding in compared.findings]


def test_a_clean_tree_is_green_and_a_pulled_cable_is_missing(tmp_path: Path) -> None:
    """In both forms of the tool; unplugged it is missing at the leaf, plugged in again all is green."""
    with fabric(tmp_path, net_file(PLAN, {}, {})) as running:
        for options in ((), ("-p",)):
            clean = judged(running.discover(*options))
            assert (clean.colour, clean.matched, clean.seen, clean.findings) == ("green", 72, 72, ())
        running.console('Unlink "leaf02"[5]')
        (finding,) = judged(running.discover()).findings
        assert (finding.fault, finding.labels) == (CableFault.MISSING, ("H-2-4",))
        assert finding.seen == "no link at leaf02 port 5"
        running.console('ReLink "leaf02"[5]')
        assert judged(running.discover()).colour == "green"


MOVED: dict[str, Port] = {
    "H-0-2": ("leaf00", "4"),
    "H-0-3": ("leaf00", "3"),  # these two are swapped
    "H-1-7": ("leaf01", "30"),  # in a free port
    "S-3-1": ("spine01", "20"),  # a spine's free port
}
RATES = {"H-2-0": "2xHDR", "H-3-9": "4xEDR"}


def test_every_wrong_plug_and_slow_port_is_found(tmp_path: Path) -> None:
    """All at once: each is one finding on its own cable, with the move, and nothing else is said."""
    with fabric(tmp_path, net_file(PLAN, MOVED, RATES)) as running:
        compared = judged(running.discover())
    assert compared.colour == "red"
    assert sorted(told(compared)) == sorted(
        [
            (CableFault.SWAPPED, ("H-0-2", "H-0-3"), "exchange the plugs in leaf00 ports 3 and 4"),
            (CableFault.WRONG_PORT, ("H-1-7",), "move cable H-1-7: 22 ports down at leaf01, from 30 to 8"),
            (CableFault.WRONG_PORT, ("S-3-1",), "move cable S-3-1: 16 ports down at spine01, from 20 to 4"),
            (CableFault.SLOW, ("H-2-0",), "reseat both plugs; then change the cable, then the optics"),
            (CableFault.SLOW, ("H-3-9",), "reseat both plugs; then change the cable, then the optics"),
        ]
    )
    slow = {finding.labels[0]: finding.seen for finding in compared.findings if finding.fault is CableFault.SLOW}
    assert slow == {"H-2-0": "100 Gb/s on 2 lanes", "H-3-9": "100 Gb/s on 4 lanes"}
