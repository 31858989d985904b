"""A second `apply` beside a running one: it looks on, is not left hanging, and never answers for a spec that nobody works on."""

import asyncio
from pathlib import Path

import pytest

from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.site_folder import read_site
from metalwright.model.errors import InputError
from metalwright.service.apply import ApplyOptions, applying
from metalwright.service.state_folder import STATE
from metalwright.store import SiteLock
from tests.conformance.store_site import NOW, opened


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    write_scaffold(folder, "simulated", nodes=1, name="a")
    return folder


async def adopted(site: Path) -> None:
    async with opened(f"sqlite:///{site / STATE / 'site.db'}") as store:
        await store.adopt_spec(read_site(site), NOW)


def test_who_looks_on_notices_that_the_other_is_gone(site: Path) -> None:
    """Killed or ended before the site is done: the viewer ends too, and says that it was left alone."""

    async def story() -> None:
        await adopted(site)
        with SiteLock(site / STATE) as other:
            async with applying(site, ApplyOptions()) as run:
                assert run.is_viewer and not await run.finished(within_s=0.0) and not run.is_left_alone
                other.release()
                assert await run.finished(within_s=5.0) and run.is_left_alone

    asyncio.run(story())


def test_it_does_not_show_another_spec(site: Path) -> None:
    """Files edited while an apply runs: bad input with what to do, not the greens of the old spec."""

    async def story() -> None:
        await adopted(site)
        file = site / "site.yaml"
        file.write_text(file.read_text().replace("timezone: UTC", "timezone: Europe/Zurich"))
        with SiteLock(site / STATE), pytest.raises(InputError, match="as they were when it began") as raised:
            async with applying(site, ApplyOptions()):
                pass
        assert raised.value.hint

    asyncio.run(story())
