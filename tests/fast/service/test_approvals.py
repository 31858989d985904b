"""`metalwright approve`, and specs that ask for less: by whom, for what, and never by those who did it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from metalwright.cli.main import main
from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.site_folder import read_site
from metalwright.drivers.signing.file_signer import open_log
from metalwright.evidence.sequence import sequence
from metalwright.model.errors import InputError
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Subject
from metalwright.ports import Store
from metalwright.service import approvals
from metalwright.service.people import filed_in
from metalwright.service.state_folder import STATE, open_state
from metalwright.store import open_store
from tests.fast.evidence.people import Person, has_ssh_keygen, person

pytestmark = has_ssh_keygen
NODE = Subject("node:atlas01")
LIVE, WAIVES, WORKS = "ops-lead@example.org", "fabric-lead@example.org", "platform@example.org"


def _record(kind: str, about: Subject = NODE, **predicate: object) -> PendingStatement:
    key = f"{kind}/{about}/{len(predicate)}"
    return PendingStatement(kind=kind, key=key, subjects=(("node:S1", "0" * 64),), predicate=predicate, made_at=time.time(), about=about)


RECORDS = (
    _record("gate", phase="validate", gate="acceptance", verdict="green"),
    _record("gate", phase="provision", gate="os", verdict="green", node="a"),
    _record("work", work_order=1, steps=[{"step": "cable", "by": LIVE}]),
    _record("gate", Subject("node:atlas02"), phase="validate", gate="acceptance", verdict="green"),
)
"""Of the first node's work, one step was done by the lead."""


def in_store(folder: Path, work: Callable[[Store], object]) -> object:
    """One piece of work on the site's store."""

    async def run() -> object:
        store: Store = open_store(open_state(folder).database_url)
        await store.open()
        try:
            return await work(store)  # type: ignore[misc]
        finally:
            await store.close()

    return asyncio.run(run())


@pytest.fixture
def people(tmp_path: Path) -> dict[str, Person]:
    (tmp_path / "keys").mkdir()
    return {name: person(tmp_path / "keys", name) for name in (LIVE, WAIVES, WORKS)}


@pytest.fixture
def site(tmp_path: Path, people: dict[str, Person]) -> Path:
    """A site that was applied, with a log of four records and everybody's key."""
    folder = tmp_path / "site"
    write_scaffold(folder, "simulated", nodes=2, name="atlas")
    (folder / "keys" / "allowed_signers").write_text("".join(each.line() for each in people.values()))
    signer = open_log(open_state(folder).path, "atlas", simulated=True, now=time.time())
    batch = sequence(RECORDS, signer.last_signed().after, signer, time.time())
    assert signer.remember(batch)

    async def fill(store: Store) -> None:
        await store.adopt_spec(read_site(folder), time.time())
        assert await store.append(batch.entries, batch.checkpoint, 0)

    in_store(folder, fill)
    return folder


def approve(site: Path, what: str, by: Person, *words: str) -> int:
    return main(["approve", what, "--reason", "seen", "--key", str(by.key), "--site", str(site), *words])


@pytest.mark.parametrize(
    ("what", "by", "why"),
    [
        ("3", WAIVES, "fabric-lead@example.org has not the role declare-live"),
        ("0", LIVE, "ops-lead@example.org did the work, and cannot approve it"),
        ("1", WORKS, "platform@example.org has not the role waive"),
        ("9", LIVE, "the log has 4 records"),
        ("-1", LIVE, "the log has 4 records"),
        ("9" * 5000, LIVE, "the log has 4 records"),
    ],
)
def test_an_approval_that_counts_for_nothing_is_refused(
    site: Path, people: dict[str, Person], capsys: pytest.CaptureFixture[str], what: str, by: str, why: str
) -> None:
    """Only who may declare the cluster live agrees to an acceptance; nobody to their own work; nothing is filed."""
    assert approve(site, what, people[by]) == 3
    assert why in capsys.readouterr().err

    async def filed(store: Store) -> int:
        return len(await store.asked(0))

    assert in_store(site, filed) == 0


def test_an_approval_becomes_a_record(site: Path, people: dict[str, Person], capsys: pytest.CaptureFixture[str]) -> None:
    """By the right role: filed, and what the leader logs holds paper and signature."""
    assert approve(site, "3", people[LIVE]) == 0
    assert capsys.readouterr().out.startswith("record 3 is approved by ops-lead@example.org as declare-live until ")

    async def logged(store: Store) -> list[PendingStatement]:
        filed = [paper for request in await store.asked(0) if (paper := filed_in(request)) is not None]
        return [each async for each in approvals.statements(site, store, read_site(site), filed, time.time())]

    (statement,) = in_store(site, logged)  # type: ignore[misc]
    assert (statement.kind, statement.about, statement.predicate["approves"]) == ("approval", "node:atlas02", "record 3")
    (site / "keys" / "allowed_signers").write_text(people[WORKS].line())
    assert in_store(site, logged) == [], "a signer who left approves nothing any more"


def adopt(site: Path) -> None:
    """What `apply` asks before it adopts the folder."""

    async def check(store: Store) -> None:
        await approvals.check_adoption(site, store, read_site(site), time.time())

    in_store(site, check)


def edit(site: Path, old: str, new: str) -> None:
    text = (site / "site.yaml").read_text()
    assert old in text
    (site / "site.yaml").write_text(text.replace(old, new, 1))


def test_a_weaker_spec_needs_an_approval_of_exactly_itself(site: Path, people: dict[str, Person]) -> None:
    """Neither the person who executes, nor somebody whom only the new spec names; an approval covers no later edit."""
    adopt(site)
    edit(site, "waive: [ops-lead@example.org", f"waive: [{WORKS}, ops-lead@example.org")
    with pytest.raises(InputError, match=r"platform@example\.org gets the role waive") as refused:
        adopt(site)
    assert "metalwright approve spec" in refused.value.hint
    assert approve(site, "spec", people[WORKS]) == 3
    assert approve(site, "spec", people[WAIVES]) == 0
    adopt(site)
    edit(site, '  - {profile: compute, component: HostBIOS_0, version: "01.01.03"}\n', "")
    with pytest.raises(InputError, match="no longer names HostBIOS_0"):
        adopt(site)


def test_the_state_folder_is_where_the_log_is(site: Path) -> None:
    """Without its trust file nobody can approve anything."""
    (site / STATE / "trust.json").unlink()
    assert main(["approve", "0", "--reason", "x", "--key", "none", "--site", str(site)]) == 3
