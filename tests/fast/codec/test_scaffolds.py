"""`metalwright init`: every kind is a valid start, at any size, and nothing of the operator's is ever overwritten."""

import stat
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from metalwright.cli import init
from metalwright.cli.main import main
from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.scaffold_kinds import KINDS
from metalwright.codec.secrets import resolve
from metalwright.codec.site_folder import read_site
from metalwright.model.errors import InputError
from metalwright.model.spec import StoredSpec


def scaffold(folder: Path, kind: str, nodes: int | None = None) -> StoredSpec:
    write_scaffold(folder / "atlas", kind, nodes=nodes)
    return read_site(folder / "atlas")


@pytest.mark.parametrize(
    ("kind", "profile", "sizes"),
    [
        ("first-cluster", "hgx-h100-8", (6, 48, 48)),
        ("hgx-h100-rails", "hgx-h100-8", (32, 256, 512)),
        ("gb200-nvl72", "gb200-nvl72-tray", (18, 72, 0)),
        ("delivered", "hgx-h200-8", (16, 128, 0)),
        ("simulated", "hgx-h100-8", (4, 32, 0)),
        ("lab", "virtual-gpu-0", (2, 0, 0)),
    ],
)
def test_every_kind_is_a_valid_site(kind: str, profile: str, sizes: tuple[int, int, int], tmp_path: Path) -> None:
    """Each scaffold reads without a problem and is what its name says: so many nodes, GPUs and cables."""
    stored = scaffold(tmp_path, kind)
    spec = stored.spec
    assert {stored.profiles[node.profile].name for node in spec.nodes} == {profile}
    gpus = sum(stored.profiles[node.profile].gpus for node in spec.nodes)
    assert (len(spec.nodes), gpus, len(spec.cables)) == sizes
    assert spec.site.simulated == (kind in ("simulated", "lab"))
    assert spec.capacity and spec.objectives and spec.acceptance and spec.retire and spec.system and spec.images
    assert set(KINDS) == set(init.KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_packing_list_holds_every_part_of_the_profile(kind: str, tmp_path: Path) -> None:
    """Each node is on the list once, with as many GPUs, NVSwitches, NICs and drives as its profile has."""
    stored = scaffold(tmp_path, kind)
    for node in stored.spec.nodes:
        profile = stored.profiles[node.profile]
        inside = [line.kind for line in stored.spec.purchase if line.node_serial == node.serial]
        assert [line.kind for line in stored.spec.purchase if line.serial == node.serial] == ["system"]
        wanted = {"gpu": profile.gpus, "nvswitch": profile.nvswitches, "nic": profile.nics, "drive": profile.nvme}
        assert {part: inside.count(part) for part in wanted} == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_racks_carry_their_nodes(kind: str, tmp_path: Path) -> None:
    """Either feed alone and the cooling carry the full load of the nodes in each rack."""
    stored = scaffold(tmp_path, kind)
    for rack in stored.spec.racks:
        watts = sum(stored.profiles[node.profile].max_watts for node in stored.spec.nodes if node.rack == rack.name)
        assert watts > 0
        assert all(feed.kw * 1000 >= watts for feed in rack.feeds)
        assert rack.cooling.kw * 1000 >= watts


def test_rails_go_to_their_own_leaf(tmp_path: Path) -> None:
    """In the rail-optimised plan NIC r of every node goes to the leaf of rail r, and leaves have as many links up as down."""
    cables = scaffold(tmp_path, "hgx-h100-rails").spec.cables
    down = [cable for cable in cables if cable.a_port.startswith("nic")]
    up = [cable for cable in cables if cable.b_device.startswith("spine")]
    assert {(cable.a_port, cable.b_device) for cable in down} == {(f"nic{rail}", f"leaf{rail + 1:02d}") for rail in range(8)}
    assert len(down) == len(up) == 256
    assert all(1 <= int(cable.b_port) <= 64 for cable in cables)


def test_a_thousand_simulated_nodes(tmp_path: Path) -> None:
    """A thousand nodes have a thousand loopback addresses, serials and MACs, and the folder is read in seconds."""
    write_scaffold(tmp_path / "big", "simulated", nodes=1000)
    started = time.process_time()
    spec = read_site(tmp_path / "big").spec
    assert time.process_time() - started < 6, "about 1 s of CPU is usual"
    assert len({node.bmc for node in spec.nodes}) == len({node.boot_mac for node in spec.nodes}) == len(spec.nodes) == 1000
    assert all(node.bmc.startswith("https://127.0.") and node.bmc.endswith(":9443") for node in spec.nodes)
    assert len(spec.racks) == 125
    assert len({line.serial for line in spec.purchase}) == len(spec.purchase) == 29_000


def test_rows_depend_only_on_kind_name_and_number(tmp_path: Path) -> None:
    """The same request gives the same serials and addresses; the first nodes stay as they are when more are asked for."""
    for folder, nodes in (("a", 20), ("b", 20), ("c", 90)):
        write_scaffold(tmp_path / folder, "simulated", nodes=nodes, name="atlas")
    texts = {folder: (tmp_path / folder / "nodes.csv").read_text() for folder in "abc"}
    assert texts["a"] == texts["b"]
    assert texts["c"].startswith(texts["a"])
    assert (tmp_path / "a" / "packing-list.csv").read_text() == (tmp_path / "b" / "packing-list.csv").read_text()


def test_secrets_are_random_and_private(tmp_path: Path) -> None:
    """Each simulated site has its own password, that only its owner reads, that `file:` resolves, and that git ignores."""
    for name in ("a", "b"):
        write_scaffold(tmp_path / name, "simulated")
    secrets = read_site(tmp_path / "a").spec.secrets.bmc
    passwords = {resolve(secrets.password, tmp_path / name).reveal() for name in ("a", "b")}
    assert len(passwords) == 2
    assert all(len(password) >= 32 for password in passwords)
    assert stat.S_IMODE((tmp_path / "a" / "secrets" / "bmc-password").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a" / "secrets").stat().st_mode) == 0o700
    assert "secrets/" in (tmp_path / "a" / ".gitignore").read_text()


@pytest.mark.parametrize("kind", ["first-cluster", "hgx-h100-rails", "gb200-nvl72", "delivered"])
def test_real_kinds_name_nobody_and_hold_no_secret(kind: str, tmp_path: Path) -> None:
    """Scaffolds of real sites name only example.org, and no secret is made up for them."""
    spec = scaffold(tmp_path, kind).spec
    assert all(principal.endswith("@example.org") for principals in spec.responsible.values() for principal in principals)
    assert not (tmp_path / "atlas" / "secrets").exists()
    assert (tmp_path / "atlas" / "keys" / "allowed_signers").exists()


@pytest.mark.parametrize(
    ("kind", "nodes", "name", "words"),
    [
        ("simulted", None, None, "did you mean simulated?"),
        ("simulated", 0, None, "1 to 20,000 nodes"),
        ("simulated", 20_001, None, "1 to 20,000 nodes"),
        ("lab", 101, None, "1 to 100 nodes"),
        ("first-cluster", 9, None, "carries 8 nodes"),
        ("simulated", None, "Not A Label", "not a site name"),
    ],
)
def test_a_wrong_request_is_told(kind: str, nodes: int | None, name: str | None, words: str, tmp_path: Path) -> None:
    """A wrong kind, number or name is an InputError with a hint, and nothing is written."""
    with pytest.raises(InputError) as caught:
        write_scaffold(tmp_path / "x", kind, nodes=nodes, name=name)
    assert words in caught.value.message + caught.value.hint
    assert caught.value.hint
    assert not (tmp_path / "x").exists()


def _run(arguments: Sequence[str]) -> int:
    return main(["init", *arguments])


def test_init_says_what_it_wrote_and_what_is_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0, every file named, and the next command."""
    assert _run([str(tmp_path / "atlas"), "--kind", "simulated", "--nodes", "2"]) == 0
    out = capsys.readouterr().out
    assert f"metalwright check {tmp_path / 'atlas'}" in out
    written = {str(path) for path in (tmp_path / "atlas").rglob("*") if path.is_file()}
    assert written <= set(out.split())


def test_init_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that holds anything is refused with exit 3 and left as it was."""
    (tmp_path / "site.yaml").write_text("mine")
    assert _run([str(tmp_path)]) == 3
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["site.yaml"]


def test_init_into_a_file_or_a_closed_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in the way is exit 3 with a hint, no traceback."""
    (tmp_path / "file").write_text("x")
    assert _run([str(tmp_path / "file")]) == 3
    assert _run([str(tmp_path / "file" / "below")]) == 3
    assert "hint:" in capsys.readouterr().err
