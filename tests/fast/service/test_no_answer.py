"""A verb that could not answer says so by its exit code: never 1 (red), 2 (undetermined) or a quiet 0."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalwright.cli.failing import exit_code_of
from metalwright.cli.main import main
from metalwright.codec.scaffold import write_scaffold
from metalwright.drivers.images.store import FOLDER, FolderImageStore
from metalwright.model.image import BuiltImage

LIST = f"{sys.executable} -m metalwright.cli.main gate list"


@pytest.mark.parametrize(("output", "code"), [("| true; exit ${PIPESTATUS[0]}", 141), (">/dev/full", 4), (">&-", 0)])
@pytest.mark.parametrize("words", ["", " --json"])
def test_an_answer_that_was_not_written_is_no_answer(output: str, code: int, words: str) -> None:
    """A reader that left, a full disk: an exit code of its own and no traceback. Without any output the code still answers."""
    done = subprocess.run(["bash", "-c", f"{LIST}{words} {output}"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("check", "/nonexistent"),
        ("status", "--site", "/nonexistent"),
        ("frobnicate",),
        ("apply", "/nonexistent", "--timeout", "-1"),
        ("apply", "/nonexistent", "--patience", "nan"),
        ("image", "verify", "/nonexistent"),
        ("init", "/proc/nowhere"),
    ],
)
def test_json_is_json_also_when_it_fails(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """One document with the exit code, the words and what to do; the words also on standard error."""
    assert main([*words, "--json"]) == 3
    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert error["exit_code"] == 3 and error["message"] and error["hint"] and told.err


def test_a_defect_is_not_a_red_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever escapes a verb ends in 4 and in words."""

    def broken() -> int:
        raise RecursionError("too deep")

    assert exit_code_of(broken, as_json=True) == 4
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["exit_code"] == 4 and "too deep" in told.err and "Traceback" not in told.err


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    write_scaffold(tmp_path / "site", "simulated", nodes=1, name="a")
    yield tmp_path / "site"


def test_verifying_nothing_is_not_whole(site: Path) -> None:
    """No image, or not the one that was named: bad input, not 0."""
    assert main(["image", "verify", str(site)]) == 3
    assert main(["image", "build", str(site)]) == 0
    assert main(["image", "verify", str(site)]) == 0
    assert main(["image", "verify", str(site), "--image", "other@1"]) == 3


def test_what_a_killed_build_left_is_no_image_and_goes(site: Path) -> None:
    """It is neither listed nor verified, and the next build removes it; a build that still runs is left alone."""
    store = FolderImageStore(site)
    dead = site / FOLDER / ".building-dead"
    dead.mkdir(parents=True)
    (dead / "manifest.json").write_text("half")
    assert store.names() == ()

    def make(folder: Path) -> BuiltImage:
        assert not dead.exists()
        with pytest.raises(ZeroDivisionError):
            store.put("other@1", lambda _: 1 // 0)  # type: ignore[arg-type,return-value]
        assert folder.exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.put("trainer@1", make)
    assert list((site / FOLDER).iterdir()) == []
