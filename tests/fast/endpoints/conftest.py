"""Both listeners of a toy site, with a database that is migrated once and copied for each test."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.conformance.store_site import opened, run_coroutine_test
from tests.fast.endpoints.listening import Listening, listening


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_coroutine_test(pyfuncitem)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("endpoints") / "site.db"

    async def make() -> None:
        async with opened(f"sqlite:///{path}"):
            pass

    asyncio.run(make())
    return path


@pytest.fixture
def site(migrated: Path, tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[Listening]]:
    shutil.copy(migrated, tmp_path / "site.db")
    return partial(listening, tmp_path)
