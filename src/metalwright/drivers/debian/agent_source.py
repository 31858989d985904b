"""Which of our own source files the agent needs: what it imports, and nothing else.

The closure is read from the syntax trees, so an edit elsewhere in the package does not change a RAM disk or an image.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from metalwright.model.errors import InputError

PACKAGE = "metalwright"
INSTALLED_PACKAGE = Path(__file__).parents[2]


def agent_files(entries: tuple[str, ...], package: Path = INSTALLED_PACKAGE) -> Mapping[str, bytes]:
    """`metalwright/agent/main.py` → its bytes, for every module that `entries` (dotted names) import, directly or not.

    InputError when an entry does not exist.
    """
    found: dict[str, bytes] = {}
    waiting = list(entries)
    while waiting:
        for path in _files_of(waiting.pop(), package):
            name = f"{PACKAGE}/{path.relative_to(package).as_posix()}"
            if name not in found:
                found[name] = path.read_bytes()
                waiting.extend(_imports(found[name]))
    missing = [entry for entry in entries if not _exists(entry, package)]
    if missing:
        raise InputError(f"the agent has no {', '.join(missing)}", hint="the package folder is incomplete: install metalwright again")
    return dict(sorted(found.items()))


def _files_of(module: str, package: Path) -> Iterator[Path]:
    """The module's file and the `__init__.py` of each package above it. A name inside a module is no file: nothing."""
    parts = module.split(".")[1:]
    for depth in range(len(parts) + 1):
        init = package.joinpath(*parts[:depth], "__init__.py")
        if init.is_file():
            yield init
    if parts:
        source = package.joinpath(*parts[:-1], f"{parts[-1]}.py")
        if source.is_file():
            yield source


def _imports(source: bytes) -> Iterator[str]:
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not _is_for_types_only(node):
            waiting.extend(ast.iter_child_nodes(node))


def _is_for_types_only(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:` is never run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse


def _exists(module: str, package: Path) -> bool:
    path = package.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
