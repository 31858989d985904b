"""`metalwright simulate list|fault|clear|act`, as a user types it."""

import asyncio
import json
from pathlib import Path

import pytest

from metalwright.cli.main import main
from metalwright.codec.scaffold import write_scaffold
from metalwright.model.hardware import PowerState
from metalwright.model.ids import NodeName
from metalwright.simulator.site import SimulatedSite
from tests.fast.simulator.simulated_runs import RecordingProgram, running
from tests.fast.simulator.simulated_sites import SMALL, make_site

N1 = NodeName("n1")


def test_commands_from_fault_to_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fault is injected, listed and cleared; an act is done; each says so in words and in JSON."""

    async def run() -> None:
        async with running(make_site(2, profile=SMALL), tmp_path, RecordingProgram()) as site:
            await asyncio.to_thread(type_commands, site)

    def type_commands(site: SimulatedSite) -> None:
        def typed(*words: str) -> str:
            assert main(["simulate", *words, "--state", str(tmp_path)]) == 0
            return capsys.readouterr().out

        assert "degraded-nvlink" in typed("list")
        typed("fault", "degraded-nvlink", "n1", "gpu=2", "port=1", "how=slow")
        assert [link.gbps for link in site.world.parts(N1).nvlinks if link.width == 1] == [106.248]
        assert "degraded-nvlink on n1" in typed("list")
        assert json.loads(typed("list", "--json"))["injected"][0]["arguments"] == {"gpu": "2", "port": "1", "how": "slow"}
        assert "done" in typed("act", "power-on", "n1")
        assert "n2                    off: off" in typed("list")
        assert site.machines[N1].standing.power is not PowerState.OFF
        typed("fault", "bmc-mute", "n2")
        assert "cleared degraded-nvlink on n1" in typed("clear", "degraded-nvlink", "n1")
        assert "cleared bmc-mute on n2" in typed("clear")
        assert "nothing held" in typed("clear")

    asyncio.run(run())


@pytest.mark.parametrize(
    "words",
    [["fault"], ["fault", "missing-gpu", "n1", "gpu"], ["fault", "nonsense", "n1"], ["fault", "missing-gpu", "n9"], ["act", "dance", "n1"]],
)
def test_wrong_commands_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Exit code 3 and words, never a traceback."""

    async def run() -> None:
        async with running(make_site(1, profile=SMALL), tmp_path, RecordingProgram()):
            assert await asyncio.to_thread(main, ["simulate", *words, "--state", str(tmp_path)]) == 3

    asyncio.run(run())
    said = capsys.readouterr().err
    assert said
    assert "Traceback" not in said


@pytest.mark.parametrize("words", [["--speed", "0"], ["--latency-ms", "-1"], ["--disk-mb-s", "-1"], ["--speed", "nan"]])
def test_senseless_options_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """A simulator with a speed of nothing is refused before it serves anything."""
    write_scaffold(tmp_path / "site", "simulated", nodes=1, name="s")
    assert main(["simulate", "serve", str(tmp_path / "site"), "--state", str(tmp_path / "state"), *words]) == 3
    assert "speed must be above 0" in capsys.readouterr().err


def test_nobody_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a simulator: exit code 3 and how to start one."""
    assert main(["simulate", "list", "--state", str(tmp_path)]) == 3
    assert "simulate serve" in capsys.readouterr().err
