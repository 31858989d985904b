"""A lab that was killed leaves nothing that the next one does not find and end."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.network import NAMESPACES
from lab.processes import start_time
from lab.site import clean, namespace_of
from metalwright.codec.scaffold import write_scaffold

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[3]
POWERS_ON = """
import asyncio, sys
from pathlib import Path
from lab.site import lab_network, only_lab, open_lab
from metalwright.codec.site_folder import read_site

site, state = Path(sys.argv[1]), Path(sys.argv[2])
stored = read_site(site)

async def serve():
    async with open_lab(site, stored, state) as lab:
        for machine in lab.machines.values():
            await machine.set_power("on")
        print("on", flush=True)
        await asyncio.Event().wait()

with only_lab(state), lab_network(stored, state):
    asyncio.run(serve())
"""


def start_lab(site: Path, state: Path) -> "subprocess.Popen[str]":
    """A process with one machine on."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-c", POWERS_ON, str(site), str(state)]
    lab = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert lab.stdout is not None and lab.stderr is not None
    if lab.stdout.readline() != "on\n":
        pytest.fail(lab.stderr.read()[-2000:])
    return lab


def machines_of(state: Path) -> dict[int, str]:
    return {int(pid): started for pid, started in json.loads((state / "processes.json").read_text()).items()}


def wait_until_gone(machines: dict[int, str]) -> None:
    deadline = time.monotonic() + 30
    while any(start_time(pid) == started for pid, started in machines.items()):
        assert time.monotonic() < deadline, "a machine outlived its lab"
        time.sleep(0.05)


def test_a_killed_lab_takes_its_machines_along_and_the_next_one_starts(needs_machines: None, tmp_path: Path) -> None:
    """kill -9: QEMU ends with its parent, a second lab over the same state starts, a stranger's pid in the book is left alone."""
    site, state = tmp_path / "site", tmp_path / "state"
    write_scaffold(site, "lab", nodes=1)
    lab = start_lab(site, state)
    machines = machines_of(state)
    assert len(machines) == 1
    assert all(start_time(pid) == started for pid, started in machines.items())
    lab.kill()
    lab.wait()
    wait_until_gone(machines)
    assert (NAMESPACES / namespace_of(state)).exists()

    stranger = subprocess.Popen(["sleep", "60"])
    try:
        (state / "processes.json").write_text(json.dumps({str(stranger.pid): "1"}))
        second = start_lab(site, state)
        assert stranger.poll() is None
        second.kill()
        second.wait()
    finally:
        stranger.kill()
        stranger.wait()
    clean(state)
    assert not (NAMESPACES / namespace_of(state)).exists()


def test_only_one_lab_per_state_folder(needs_machines: None, tmp_path: Path) -> None:
    """A second one refuses to start, and `clean` refuses too: the machines of the first go on."""
    site, state = tmp_path / "site", tmp_path / "state"
    write_scaffold(site, "lab", nodes=1)
    lab = start_lab(site, state)
    machines = machines_of(state)
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    try:
        command = [sys.executable, "-m", "lab", "clean", "--state", str(state)]
        refused = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 3
        assert "a lab is running" in refused.stderr
        assert all(start_time(pid) == started for pid, started in machines.items())
    finally:
        lab.kill()
        lab.wait()
        wait_until_gone(machines)
        clean(state)
