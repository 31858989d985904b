"""An image write that is interrupted from every side goes on where it was: what is on the disk is not written again."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.kit.applying import Apply
from tests.kit.simulated_site import SimulatedSite, simulated_site, wait_until
from tests.kit.whole_evidence import assert_evidence_is_whole

pytestmark = pytest.mark.real

MOMENTS = 10
SIDE_BY_SIDE = 4
"""Frames that an agent has in flight between two flushes: what a loss of power may cost."""
DISK_MB_S = 3.0
SOON = ("--patience", "0.3")
"""An agent that lost its machine is given up after 27 s instead of 90 s."""


@pytest.mark.parametrize("seed", [2026])
def test_apply_killed_in_the_middle_of_a_write(seed: int, tmp_path: Path) -> None:
    """Kill -9 at ten random moments of the image write: each frame is written once, no machine is started again, the last run is green."""
    with simulated_site(tmp_path / "site", nodes=2, image_mib=64, frame_mib=1) as site:
        site.simulator.start(disk_mb_s=DISK_MB_S)
        total = sum(frame.length for frame in site.manifest.frames)
        for mark in sorted(random.Random(seed).sample(range(total * 49 // 50), MOMENTS)):
            Apply(site.folder).kill_when(f"{mark} of {total} bytes are written", lambda mark=mark: written(site) >= mark)
        assert Apply(site.folder).ends(within_s=120) == 0
        for node in site.nodes:
            assert site.simulator.starts(node) == 2
            assert site.simulator.frame_writes(node, site.manifest) == Counter(frame.offset for frame in site.manifest.frames)
        assert_evidence_is_whole(site)


def test_a_machine_loses_power_in_the_middle_of_a_write(tmp_path: Path) -> None:
    """The machine is started into its RAM disk again, and only what was not flushed is written again; its neighbour notices nothing."""
    with simulated_site(tmp_path / "site", nodes=2, image_mib=64, frame_mib=1) as site:
        unlucky, neighbour = site.nodes
        site.simulator.start(disk_mb_s=DISK_MB_S)
        site.simulator.act("power-cut", unlucky, after_bytes=sum(frame.length for frame in site.manifest.frames) // 2)
        apply = Apply(site.folder, *SOON)
        assert apply.ends(within_s=200) == 0, apply.tail()
        assert "cut" in [deed.did for deed in site.simulator.deeds(unlucky)]
        assert (site.simulator.starts(unlucky), site.simulator.starts(neighbour)) == (3, 2)
        assert_resumed(site, unlucky)
        assert set(site.simulator.frame_writes(neighbour, site.manifest).values()) == {1}
        assert_evidence_is_whole(site)


def test_the_hall_loses_power_in_the_middle_of_a_write(tmp_path: Path) -> None:
    """Kill -9 of the simulator: every BMC and every machine is gone and comes back; both writes are resumed."""
    with simulated_site(tmp_path / "site", nodes=2, image_mib=64, frame_mib=1) as site:
        site.simulator.start(disk_mb_s=DISK_MB_S)
        apply = Apply(site.folder, *SOON)
        half = sum(frame.length for frame in site.manifest.frames) // 2
        wait_until("half of the image is written", lambda: written(site) >= half)
        site.simulator.kill()
        site.simulator.start_again()
        assert apply.ends(within_s=200) == 0, apply.tail()
        for node in site.nodes:
            assert site.simulator.starts(node) == 4  # RAM disk, the power that came back, RAM disk, installed
            assert_resumed(site, node)
        assert_evidence_is_whole(site)


def written(site: SimulatedSite) -> int:
    """Bytes of the machine that is furthest."""
    return max(site.simulator.bytes_written(node) for node in site.nodes)


def assert_resumed(site: SimulatedSite, node: str) -> None:
    """Every frame is there; at most those in flight were written twice, none more often."""
    writes = site.simulator.frame_writes(node, site.manifest)
    assert set(writes) == {frame.offset for frame in site.manifest.frames}
    twice = [offset for offset, times in writes.items() if times > 1]
    assert len(twice) <= SIDE_BY_SIDE and max(writes.values()) <= 2, writes
