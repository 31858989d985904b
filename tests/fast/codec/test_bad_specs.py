"""Whatever is wrong with a site folder, the operator is told where and what to do; never a traceback."""

from pathlib import Path

import pytest

from metalwright.codec.site_folder import read_site
from tests.fast.codec.bad_specs import BAD, Bad
from tests.fast.codec.small_site import FILES, problems_of, write_site


def test_the_small_site_is_good(tmp_path: Path) -> None:
    """The base of all bad specs reads: each case fails by its own change only."""
    assert read_site(write_site(tmp_path)).overrides == ("profile compute: nics 8 → 4 (site.yaml)",)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.why.replace(" ", "-"))
def test_a_bad_spec_names_file_line_and_remedy(bad: Bad, tmp_path: Path) -> None:
    """One change in a good folder gives a problem at its line, in words, with a hint, and no other problems around it."""
    assert bad.old in FILES[bad.file], "the case no longer changes anything"
    text = FILES[bad.file].replace(bad.old, bad.new, 1)
    found = problems_of(write_site(tmp_path, {bad.file: text}))
    blamed = bad.blamed or bad.file
    lines = (FILES[blamed] if bad.blamed else text).splitlines()
    line = next(number for number, one in enumerate(lines, start=1) if bad.at in one)
    fitting = [one for one in found if one.line == line and all(word in str(one) for word in bad.words)]
    assert fitting, f"no problem at line {line} with {bad.words}:\n" + "\n".join(map(str, found))
    assert fitting[0].file == str(tmp_path / blamed)
    assert all(one.hint for one in found)
    if bad.problems is not None:
        assert len(found) == bad.problems, "\n".join(map(str, found))


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    """Mistakes in five files and of every sort are told in one run, in the order of the files."""
    found = problems_of(
        write_site(
            tmp_path,
            {
                "site.yaml": FILES["site.yaml"].replace("kw: 22.5", "kw: lots").replace("scheduler:", "schedular:"),
                "nodes.csv": FILES["nodes.csv"].replace("r01,9", "r09,9"),
                "packing.csv": FILES["packing.csv"].replace("gpu,1,MW0001", "gpu,1,MW0009"),
                "cables.csv": FILES["cables.csv"].replace("leaf01,2,", "leaf01,1,"),
                "images/trainer.yaml": FILES["images/trainer.yaml"].replace("builder: mmdebstrap", "builder: docker"),
            },
        )
    )
    assert [Path(one.file).name for one in found] == ["cables.csv", "trainer.yaml", "nodes.csv", "packing.csv", "site.yaml", "site.yaml"]


def test_a_broken_rack_is_told_once(tmp_path: Path) -> None:
    """A mistake inside a rack does not make every node of that rack a problem too."""
    found = problems_of(write_site(tmp_path, {"site.yaml": FILES["site.yaml"].replace("kw: 22.5", "kw: lots")}))
    assert [one.path for one in found] == ["racks[0].cooling.kw"]


def test_a_flood_of_problems_is_cut(tmp_path: Path) -> None:
    """Ten thousand bad lines do not scroll the cause away: the first hundred, and how many more."""
    rows = "".join(f"atlas{index},r77,1,compute,S{index},https://10.9.{index // 250}.{index % 250 + 1},x\n" for index in range(10_000))
    found = problems_of(write_site(tmp_path, {"nodes.csv": FILES["nodes.csv"] + rows}))
    assert len(found) == 101
    assert "more problems are not shown" in found[-1].message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("file:secrets/bmc", "hunter2"),
        ("file:secrets/bmc", "file:hunter2 x"),
        ("file:secrets/bmc", "[hunter2]"),
        ("bmc: {user: env:BMC_USER, password: file:secrets/bmc}", "bmc: hunter2"),
        ("secrets:\n  bmc: {user: env:BMC_USER, password: file:secrets/bmc}", "secrets: hunter2"),
    ],
)
def test_a_bare_secret_is_never_shown(old: str, new: str, tmp_path: Path) -> None:
    """Somebody who wrote the password into site.yaml does not read it again in the error, wherever under `secrets` it stands."""
    found = problems_of(write_site(tmp_path, {"site.yaml": FILES["site.yaml"].replace(old, new)}))
    assert "hunter2" not in "\n".join(map(str, found))
