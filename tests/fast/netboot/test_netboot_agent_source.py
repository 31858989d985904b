"""Which files of ours go into a RAM disk."""

from pathlib import Path

import pytest

from metalwright.drivers.debian.agent_source import agent_files
from metalwright.model.errors import InputError


def package(root: Path, **sources: str) -> Path:
    for name, source in sources.items():
        path = root / f"{name.replace('__slash__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        for folder in (path.parent, *path.parent.parents):
            if folder.is_relative_to(root):
                (folder / "__init__.py").touch()
    return root


def test_only_what_the_agent_imports(tmp_path: Path) -> None:
    """Imports are followed, in functions too and through cycles; what nobody imports, or only a type checker, stays out."""
    package(
        tmp_path,
        agent__slash__main="from metalwright.model.words import Claim\nfrom metalwright.agent import disk\n"
        "if TYPE_CHECKING:\n    import metalwright.store.engine\n",
        agent__slash__disk="def f():\n    import metalwright.model.late\n",
        model__slash__words="import json\nfrom metalwright.agent.main import x\nclass Claim: ...\n",
        model__slash__late="",
        store__slash__engine="import sqlalchemy\n",
    )
    assert set(agent_files(("metalwright.agent.main",), tmp_path)) == {
        "metalwright/__init__.py",
        "metalwright/agent/__init__.py",
        "metalwright/agent/disk.py",
        "metalwright/agent/main.py",
        "metalwright/model/__init__.py",
        "metalwright/model/late.py",
        "metalwright/model/words.py",
    }


def test_a_missing_entry_is_an_error(tmp_path: Path) -> None:
    """A RAM disk without an agent is never built."""
    with pytest.raises(InputError, match=r"no metalwright.agent.gone"):
        agent_files(("metalwright.agent.gone",), package(tmp_path, agent__slash__main=""))
