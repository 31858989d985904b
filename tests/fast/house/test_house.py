"""The house rules that the build holds: layers, types, style, and documents that tell the truth."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_types() -> None:
    """mypy strict passes over the sources, the lab and the benchmarks."""
    done = _tool("mypy")
    assert done.returncode == 0, done.stdout


def test_style() -> None:
    """ruff passes over everything."""
    done = _tool("ruff", "check", "src", "tests", "lab", "benchmarks")
    assert done.returncode == 0, done.stdout


def test_layers() -> None:
    """No layer is broken, and what judges does no I/O: import linter's contracts hold."""
    done = subprocess.run([str(Path(sys.executable).parent / "lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("record", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda record: record.name[:4])
def test_decision_records_name_their_tests(record: Path) -> None:
    """Each decision record names at least one test or benchmark, and those exist."""
    named = re.findall(r"`([^`]+)`", record.read_text().rpartition("\nTest:")[2])
    assert named, "no test named"
    for path in named:
        assert list((ROOT / path).glob("**/test_*.py")) if path.endswith("/") else (ROOT / path).is_file(), path


def test_architecture_names_folders_that_exist() -> None:
    """Every source file that ARCHITECTURE.md names by path exists, and it stays within 250 lines."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 250
    for name in re.findall(r"`([a-z_]+/[a-z_/]*\.?[a-z]*)`", text):
        if name.startswith(("docs/", "tests/", "lab/", "benchmarks/")):
            assert (ROOT / name).exists(), name
        elif not name.startswith(("src/",)):
            assert (ROOT / "src" / "metalwright" / name).exists(), name


FORBIDDEN = re.compile(r"unittest\.mock|MagicMock|monkeypatch\.setattr|time\.sleep\((?!0\.[0-5])")


def test_tests_have_no_mocks_and_no_sleeps() -> None:
    """Tests use simulators, and wait on states: a sleep is only the step of a poll, half a second at most."""
    offenders = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path != Path(__file__) and (match := FORBIDDEN.search(path.read_text()))
    ]
    assert not offenders


def test_the_agent_needs_only_the_standard_library() -> None:
    """The RAM disk has no packages: everything the agent imports is standard library or the model."""
    allowed = set(sys.stdlib_module_names) | {"metalwright"}
    for path in (ROOT / "src" / "metalwright" / "agent").rglob("*.py"):
        for line in path.read_text().splitlines():
            if match := re.match(r"\s*(?:from|import) ([a-z_0-9]+)", line):
                assert match.group(1) in allowed, f"{path.name}: {line}"
