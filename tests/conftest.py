"""Order and grouping of the tests: real components first, the longest before all, each file of them in one process."""

from pathlib import Path

import pytest

REAL = Path(__file__).parent / "real"
LONGEST = ("lab", "journey")
"""Folders of `real/` that take minutes: begun first, or all other processes would wait for the last of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of real components share ports, servers and built images among their own tests only."""
    for item in items:
        if REAL in item.path.parents:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(REAL))))
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if REAL not in item.path.parents:
        return len(LONGEST) + 1
    folder = item.path.relative_to(REAL).parts[0]
    return LONGEST.index(folder) if folder in LONGEST else len(LONGEST)
