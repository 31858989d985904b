"""`./quickstart --machines`: two real machines from power-off to an installed system, with evidence that verifies."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from boot_server import CACHE

from lab.network import NAMESPACES
from lab.site import namespace_of

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[3]
JOURNEY_DEADLINE_S = 1500
"""Two idle cores need about three minutes."""


def environment() -> Mapping[str, str]:
    return os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "METALWRIGHT_CACHE": str(CACHE)}


def test_two_machines_from_power_off_to_a_proven_os(needs_machines: None, tmp_path: Path) -> None:
    """One command ends with 0: both nodes booted the RAM disk, then their drive, and are past the os gate; nothing is left running."""
    command = [sys.executable, "-m", "lab.quickstart", "--nodes", "2"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=JOURNEY_DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    site = tmp_path / "quickstart-site"
    board = metalwright(tmp_path, "status", "--site", str(site), "--json")
    assert [node["gates"]["os"] for node in board["nodes"]] == ["green", "green"]
    verified = metalwright(tmp_path, "evidence", "verify", str(site / "evidence.bundle"), "--trust", str(site / "trust.json"), "--json")
    assert verified["valid"] is True
    assert verified["simulated"] is True
    for node in board["nodes"]:
        console = (site / ".lab" / "nodes" / node["node"] / "console.log").read_text(errors="replace")
        assert "stage ram" in console
        assert "stage installed" in console
        assert f"started on {node['node']}" in console
    assert not (NAMESPACES / namespace_of(site / ".lab")).exists()


def metalwright(folder: Path, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "metalwright.cli.main", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
