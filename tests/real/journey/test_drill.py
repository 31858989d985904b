"""`gate drill`: every gate seen to fail, on the right node, with its score as evidence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fast.service.test_drill_faults import UNPROVEN

pytestmark = pytest.mark.real
METALWRIGHT = (sys.executable, "-m", "metalwright.cli.main")


def test_the_drill_proves_every_check_and_is_evidence(tmp_path: Path) -> None:
    """All but the named ones are proven, nothing else turned red, and the score is in a log that verifies and says that it is simulated."""
    site = tmp_path / "site"
    done = subprocess.run(
        [*METALWRIGHT, "gate", "drill", "--json", "--out", str(site)], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 2, done.stderr
    score = json.loads(done.stdout)
    assert {check["check"] for check in score["checks"] if not check["proven"]} == UNPROVEN
    assert score["false_alarms"] == []
    assert score["proven"] == score["of"] - len(UNPROVEN)
    listed = subprocess.run([*METALWRIGHT, "evidence", "list", str(site), "--json"], capture_output=True, text=True, timeout=60, check=True)
    assert [record["kind"] for record in json.loads(listed.stdout)][-1] == "drill"
    verify = [*METALWRIGHT, "evidence", "verify", str(site / "drill.bundle"), "--trust", str(site / "trust.json")]
    verified = subprocess.run(verify, capture_output=True, text=True, timeout=60, check=False)
    assert verified.stdout.splitlines()[-1].startswith("valid") and "simulated" in verified.stdout, verified.stdout
