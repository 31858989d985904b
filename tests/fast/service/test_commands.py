"""The command line's promises: exit codes, words instead of tracebacks, JSON where asked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from metalwright.codec.scaffold import write_scaffold


def metalwright(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "metalwright.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_scaffold(tmp_path / "site", "simulated", nodes=2, name="a")
    return tmp_path / "site"


@pytest.mark.parametrize(
    "words",
    [
        ("frobnicate",),
        ("check", "/nonexistent"),
        ("plan", "/nonexistent"),
        ("apply", "/nonexistent"),
        ("status", "--site", "/nonexistent"),
        ("node", "show", "x", "--site", "/nonexistent"),
        ("explain", "inventory.nonsense"),
        ("evidence", "verify", "/nonexistent", "--trust", "/nonexistent"),
        ("evidence", "export", "/nonexistent", "--out", "/tmp/x"),
        ("image", "build", "/nonexistent"),
        ("simulate", "list", "--state", "/nonexistent"),
        ("node", "inspect", "not-a-url"),
    ],
)
def test_bad_input_is_three_with_words(words: tuple[str, ...]) -> None:
    """Exit 3, something on standard error, no traceback."""
    done = metalwright(*words)
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert done.stderr.strip() and "Traceback" not in done.stderr


def test_a_broken_spec_names_every_problem(site: Path) -> None:
    """check, plan and apply say file and line, and exit 3."""
    (site / "site.yaml").write_text((site / "site.yaml").read_text().replace("racks:", "rakcs:"))
    for verb in ("check", "plan", "apply"):
        done = metalwright(verb, str(site))
        assert done.returncode == 3 and "site.yaml:" in done.stderr and "hint:" in done.stderr and "Traceback" not in done.stderr


def test_a_missing_image_is_red_and_plan_changes_nothing(site: Path) -> None:
    """The plan gate is red until the image is built; neither verb leaves a state folder behind."""
    checked, planned = metalwright("check", str(site)), metalwright("plan", str(site), "--json")
    assert (checked.returncode, planned.returncode) == (1, 1) and "image build" in checked.stdout
    assert json.loads(planned.stdout)["plan"] == "red"
    assert metalwright("image", "build", str(site)).returncode == 0
    planned = metalwright("plan", str(site), "--json")
    assert [node["steps"] for node in json.loads(planned.stdout)["nodes"]] == [["boot-ram-disk"]] * 2
    assert not (site / ".metalwright").exists()


def test_an_altered_image_is_told(site: Path) -> None:
    """`image verify` reads every byte: exit 1."""
    metalwright("image", "build", str(site))
    (blob,) = site.glob("images-built/*/frames.zst")
    data = bytearray(blob.read_bytes())
    data[len(data) // 2] ^= 1
    blob.write_bytes(data)
    done = metalwright("image", "verify", str(site), "--json")
    assert done.returncode == 1 and json.loads(done.stdout)[0]["state"] == "altered"


def test_explain_and_gate_list_need_no_site() -> None:
    """A rule with its source; every check of every gate as JSON."""
    told = metalwright("explain", "inventory.nvlinks", "--json")
    assert told.returncode == 0 and json.loads(told.stdout)["source"]
    listed = json.loads(metalwright("gate", "list", "--json").stdout)
    assert {"plan", "inventory", "firmware", "os"} <= {check["gate"] for check in listed}
