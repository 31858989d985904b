"""A site whose BMCs but one are hostile: that one goes its way, the others are told apart in words, and metalwright stays small."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metalwright.simulator.control import ask
from metalwright.simulator.redfish.hostile import WAYS
from tests.kit.applying import Apply
from tests.kit.simulated_site import SimulatedSite, simulated_site, wait_until

pytestmark = pytest.mark.real
MOST_MIB = 400
"""Measured: 166 MiB. One body of a gigabyte, or one bomb of 200 MiB, would show."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[SimulatedSite]:
    with simulated_site(tmp_path / "site", nodes=len(WAYS) + 1, image_mib=16) as made:
        made.simulator.start()
        yield made


def board(site: SimulatedSite) -> dict[str, Any]:
    shown = site.metalwright("status", "--site", str(site.folder), "--json").stdout
    return {row["node"]: row for row in json.loads(shown or "{}").get("nodes", ())}


def os_is_green(site: SimulatedSite) -> bool:
    """Of any node; the store is made by the apply that was just started."""
    with contextlib.suppress(sqlite3.OperationalError):
        return ("green",) in site.rows("SELECT colour FROM verdicts WHERE gate = 'os'")
    return False


def peak_mib(pid: int) -> float:
    """The most memory that the process ever held (VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def test_hostile_bmcs_hold_nobody_else(site: SimulatedSite) -> None:
    """The healthy node reaches a green os gate beside seven hostile ones; each of these is undetermined with a reason of its own."""
    healthy, *others = site.nodes
    for node, way in zip(others, WAYS, strict=True):
        ask(site.folder / ".simulator", {"do": "fault", "name": "bmc-hostile", "node": node, "arguments": {"how": way}})
    running = Apply(site.folder, "--patience", "0.2")
    try:
        wait_until("gate os is green", lambda: os_is_green(site), 150)
        assert running.is_running
        assert peak_mib(running.pid) < MOST_MIB
    finally:
        running.interrupted()
    rows, reasons = board(site), {}
    assert rows[healthy]["gates"]["os"] == "green"
    for node, way in zip(others, WAYS, strict=True):
        assert rows[node]["gates"]["inventory"] == "undetermined", (way, rows[node])
        shown = site.metalwright("gate", "show", "inventory", "--site", str(site.folder), "--node", node, "--json").stdout
        (verdict,) = json.loads(shown)
        reasons[way] = next(finding["reason"] for finding in verdict["findings"] if finding["check"] == "inventory.bmc-answers")
    assert all("BMC" in reason for reason in reasons.values()), reasons
    assert "Traceback" not in running.output.read_text()
