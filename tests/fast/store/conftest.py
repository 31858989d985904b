"""The store's fast tests run on SQLite files; `tests/real/store` runs the same suite on PostgreSQL."""

import asyncio
import shutil
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.conformance.store_suite")

from tests.conformance.store_site import opened, run_coroutine_test  # noqa: E402 - after the assertion rewriting is arranged


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_coroutine_test(pyfuncitem)


@pytest.fixture
def new_url(tmp_path: Path) -> str:
    """A database that does not exist yet."""
    return f"sqlite:///{tmp_path}/.metalwright/site.db"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty database: made once, copied for each test."""
    path = tmp_path_factory.mktemp("template") / "site.db"

    async def make() -> None:
        async with opened(f"sqlite:///{path}"):
            pass

    asyncio.run(make())
    return path


@pytest.fixture
def url(template: Path, new_url: str) -> str:
    """A migrated, empty database."""
    path = Path(new_url.removeprefix("sqlite:///"))
    path.parent.mkdir()
    shutil.copy(template, path)
    return new_url
