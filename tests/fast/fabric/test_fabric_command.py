"""`fabric diff` on files alone."""

import json
from pathlib import Path

import pytest

from metalwright.cli.main import main

PLAN = """label,a_device,a_port,b_device,b_port,fabric
C-1,node01,nic0,leaf01,1,compute
C-2,node02,nic0,leaf01,2,compute
"""
SEEN = """Switch\t41 "S-01"\t# "MF0;leaf01:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[{first}]\t"H-02"[1](02) \t# "node01 mlx5_0" lid 2 4xNDR
[{second}]\t"H-03"[1](03) \t# "node02 mlx5_0" lid 3 4xNDR
Ca\t1 "H-02"\t# "node01 mlx5_0"
[1](02)\t"S-01"[{first}]\t# lid 2 lmc 0 "MF0;leaf01:MQM9700/U1" lid 1 4xNDR
Ca\t1 "H-03"\t# "node02 mlx5_0"
[1](03)\t"S-01"[{second}]\t# lid 3 lmc 0 "MF0;leaf01:MQM9700/U1" lid 1 4xNDR
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "cables.csv"
    file.write_text(PLAN)
    return file


def diff(plan: Path, seen: str, *more: str) -> int:
    file = plan.with_name("ib.out")
    file.write_text(seen)
    return main(["fabric", "diff", "--plan", str(plan), "--seen", str(file), "--ports", "mlx5_{}=nic{}", *more])


def test_as_planned_is_zero(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the host's ports translated; without, nothing fits."""
    assert diff(plan, SEEN.format(first=1, second=2)) == 0
    assert "2 cables planned · 2 links seen · 2 where the plan has them · GREEN" in capsys.readouterr().out
    assert main(["fabric", "diff", "--plan", str(plan), "--seen", str(plan.with_name("ib.out"))]) == 1


def test_a_swapped_pair_is_one_line_and_one(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a table and as JSON."""
    assert diff(plan, SEEN.format(first=2, second=1), "--json") == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["fault"], finding["cables"]) == ("swapped", ["C-1", "C-2"])
    assert finding["do"] == "exchange the plugs in leaf01 ports 1 and 2"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--fabric", "nvlink"], "no cable of fabric nvlink"),
        (["--rate", "compute=fast"], "is not FABRIC=GBPS"),
        (["--ports", "mlx5"], "is not SEEN=PLANNED"),
        (["--seen", "/nowhere"], "cannot be read"),
        (["--seen", "{plan}"], "not the output of ibnetdiscover"),
    ],
)
def test_bad_input_is_three_with_words(plan: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And a hint."""
    assert diff(plan, SEEN.format(first=1, second=2), *[word.format(plan=plan) for word in words]) == 3
    said = capsys.readouterr().err
    assert says in said and "hint" in said


def test_a_bad_plan_names_its_lines(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cable with one end, a port used twice."""
    plan.write_text(PLAN + "C-3,node03,nic0,,,compute\nC-4,node04,nic0,leaf01,2,compute\n")
    assert diff(plan, SEEN.format(first=1, second=2)) == 3
    said = capsys.readouterr().err
    assert "cables.csv:4" in said and "one end only" in said and "leaf01 port 2 is already used by C-2" in said
