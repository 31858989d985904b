"""Kill -9 between any two steps: the next apply finishes, nothing is done twice without need, no evidence is lost or doubled."""

from collections import Counter
from pathlib import Path

import pytest

from tests.kit.killing import Moment, apply_killed_at
from tests.kit.simulated_site import SimulatedSite, simulated_site
from tests.kit.whole_evidence import assert_evidence_is_whole

pytestmark = pytest.mark.real

# Not in it: "progress done". A run killed after the read-back was recorded proves the write by that, and closes it unheard.
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "turns": (
        ("turn",),
        (
            "turn orders boot-ram-disk",
            "turn orders write-image boot-installed",
            "turn boot-ram-disk intended",
            "turn boot-ram-disk started",
            "turn boot-ram-disk proven",
            "turn write-image intended",
            "turn write-image started",
            "turn write-image proven",
            "turn boot-installed intended",
            "turn boot-installed started",
            "turn boot-installed proven",
            "turn order done",
            "turn verdict inventory green",
            "turn verdict firmware green",
            "turn verdict os green",
            "turn waits permit",
        ),
    ),
    "looks-and-agents": (
        ("seen", "claim", "progress"),
        (
            "seen bmc-hardware by out-of-band",
            "seen agent-boot by ram-disk",
            "seen agent-hardware by ram-disk",
            "seen disk-image by ram-disk",
            "seen agent-boot by running-system",
            "seen system-image by running-system",
            "claim ram",
            "claim installed",
        ),
    ),
    "machines": (("bmc",), ("bmc boot network", "bmc power reset", "bmc boot disk")),
    "site-and-evidence": (
        ("adopt", "site plan", "order numbers", "permits", "signer", "append"),
        (
            "adopt spec",
            "site plan",
            "order numbers",
            "permits",
            "append gate of site",
            "append gate of node",
            "append work of node",
        ),
    ),
}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("family", FAMILIES)
def test_killed_between_any_two_steps(family: str, moment: Moment, tmp_path: Path) -> None:
    """Apply dies at every point of a family in turn, each time right before (right after) it; the run left alone ends green, each
    machine was started twice in all and each frame written once, and the log holds what an undisturbed run leaves."""
    words, expected = FAMILIES[family]
    with simulated_site(tmp_path / "site", nodes=2, image_mib=24) as site:
        site.simulator.start()
        killed = apply_killed_at(site.folder, words, moment)
        assert killed.exit_code == 0, killed
        assert set(expected) <= set(killed.points)
        for node in site.nodes:
            assert site.simulator.starts(node) == 2, (node, site.simulator.deeds(node))
            assert_written_once(site, node)
        assert_evidence_is_whole(site)


def assert_written_once(site: SimulatedSite, node: str) -> None:
    """Every frame of the image exactly once: a kill of ours costs the machine nothing."""
    manifest = site.manifest
    assert site.simulator.frame_writes(node, manifest) == Counter(frame.offset for frame in manifest.frames)
