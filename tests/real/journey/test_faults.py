"""Every fault that a site meets first, one per node of one site: the right finding on the right node, and green once cleared."""

import json
from pathlib import Path
from typing import Any

import pytest

from metalwright.simulator.control import ask
from tests.kit.simulated_site import SimulatedSite, simulated_site

pytestmark = pytest.mark.real

FAULTS: tuple[tuple[str, str, str, str, str], ...] = (
    ("chaos01", "bmc-mute", "inventory", "undetermined", "inventory.bmc-answers"),
    ("chaos02", "bmc-slow", "inventory", "undetermined", "inventory.bmc-answers"),
    ("chaos03", "power-lies", "inventory", "undetermined", "inventory.witnesses-agree"),
    ("chaos04", "missing-gpu", "inventory", "red", "inventory.gpus"),
    ("chaos05", "degraded-nvlink", "inventory", "red", "inventory.nvlinks"),
    ("chaos05", "wrong-disk", "inventory", "red", "inventory.purchase"),
    ("chaos06", "wrong-serial", "inventory", "red", "inventory.identity"),
    ("chaos07", "wrong-firmware", "firmware", "red", "firmware.baseline"),
    ("chaos08", "bmc-401-after-reset", "os", "green", ""),
)
"""Node, fault, the gate it shows at, its colour there, the check that says so. A session lost with a reset is simply opened again."""

NODES = tuple(dict.fromkeys(node for node, *_ in FAULTS))
PATIENCE = "0.1"


@pytest.fixture
def site(tmp_path: Path) -> "Any":
    with simulated_site(tmp_path / "site", nodes=len(NODES), image_mib=16) as made:
        made.simulator.start()
        yield made


def applied(site: SimulatedSite, *, timeout_s: int) -> dict[str, dict[str, Any]]:
    """Node → its line of the final board."""
    done = site.metalwright("apply", str(site.folder), "--patience", PATIENCE, "--timeout", str(timeout_s), "--json")
    assert "Traceback" not in done.stderr, done.stderr
    return {node["node"]: node for node in json.loads(done.stdout)["nodes"]}


def findings(site: SimulatedSite, node: str, gate: str) -> dict[str, str]:
    """Check → result of the last recorded verdict."""
    done = site.metalwright("gate", "show", gate, "--site", str(site.folder), "--node", node, "--json")
    (verdict,) = json.loads(done.stdout)
    return {finding["check"]: finding["result"] for finding in verdict["findings"]}


def test_each_fault_shows_on_its_node_and_clears(site: SimulatedSite) -> None:
    """Each fault holds its own node and no other; cleared and retried, every node reaches a green os gate, the log is
    whole, and nothing is left to plan."""
    state = site.folder / ".simulator"
    for node, fault, *_ in FAULTS:
        ask(state, {"do": "fault", "name": fault, "node": node, "arguments": {}})
    board = applied(site, timeout_s=100)
    for node, fault, gate, colour, check in FAULTS:
        assert board[node]["gates"][gate] == colour, (fault, board[node])
        if check:
            wanted = {"red": "fail", "undetermined": "undetermined"}[colour]
            assert findings(site, node, gate)[check] == wanted, fault
            assert board[node]["gates"]["os"] != "green" and board[node]["waits_for"], fault
    ask(state, {"do": "clear"})
    for node in NODES:
        assert site.metalwright("node", "retry", node, "--site", str(site.folder)).returncode == 0
    board = applied(site, timeout_s=110)
    assert not {node: line for node, line in board.items() if line["gates"]["os"] != "green"}
    assert site.verified().is_valid
    planned = site.metalwright("plan", str(site.folder), "--json")
    assert planned.returncode == 0 and json.loads(planned.stdout)["nodes"] == [], "a converged site plans an empty work order"
