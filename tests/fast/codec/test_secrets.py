"""Secrets by reference: resolved at use, never shown, never readable by others."""

import os
import pickle
import stat
from pathlib import Path

import pytest

from metalwright.codec.secrets import resolve
from metalwright.model.errors import InputError


def _secret_file(folder: Path, content: bytes = b"hunter2\n", mode: int = 0o600) -> Path:
    path = folder / "bmc"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_file_of_the_folder(tmp_path: Path) -> None:
    """One line break at the end is the editor's, everything else is the secret."""
    _secret_file(tmp_path, b" hunter2 \r\n")
    assert resolve("file:bmc", tmp_path).reveal() == " hunter2 "


def test_an_environment_variable(tmp_path: Path) -> None:
    """`env:` reads this process's environment: PATH stands for any."""
    assert resolve("env:PATH", tmp_path).reveal() == os.environ["PATH"]


def test_a_secret_prints_as_stars_and_is_never_pickled(tmp_path: Path) -> None:
    """Neither a log line nor a worker process gets it by accident."""
    _secret_file(tmp_path)
    secret = resolve("file:bmc", tmp_path)
    assert "hunter2" not in f"{secret} {secret!r}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o660, 0o777])
def test_a_file_that_others_may_touch_is_refused(mode: int, tmp_path: Path) -> None:
    """Readable or writable by group or world: refused, with the command that cures it."""
    _secret_file(tmp_path, mode=mode)
    with pytest.raises(InputError) as caught:
        resolve("file:bmc", tmp_path)
    assert f"mode {mode:04o}" in caught.value.message
    assert caught.value.hint == "chmod 600 bmc"


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("env:METALWRIGHT_NO_SUCH_VARIABLE", "is not set"),
        ("file:missing", "no such file"),
        ("file:empty", "is empty"),
        ("file:newline", "is empty"),
        ("file:nul", "NUL"),
        ("file:latin", "not UTF-8"),
        ("file:large", "larger than"),
        ("file:folder", "is a directory"),
        ("file:link", "leads outside"),
        ("file:../bmc", "not given by reference"),
        ("file:/etc/passwd", "not given by reference"),
        ("vault:transit/atlas", "not available yet"),
        ("hunter2", "not given by reference"),
        ("plain:hunter2", "not given by reference"),
        ("env:", "not given by reference"),
        ("", "not given by reference"),
    ],
)
def test_what_cannot_be_had_is_told(ref: str, words: str, tmp_path: Path) -> None:
    """One InputError with a hint each; a text that may be the secret itself is not repeated."""
    folder = tmp_path / "site"
    folder.mkdir()
    contents = {"empty": b"", "newline": b"\n", "nul": b"a\0b", "latin": b"\xfc\xfc", "large": b"x" * (1 << 20)}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(stat.S_IRUSR | stat.S_IWUSR)
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(InputError) as caught:
        resolve(ref, folder)
    assert words in caught.value.message
    assert caught.value.hint
    assert "hunter2" not in str(caught.value) + caught.value.hint
