"""The sequencer over a real store: crashes between signing and committing lose and double nothing; old databases are refused."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from metalwright.drivers.signing.file_signer import FileSigner, open_log
from metalwright.model.errors import InputError, MachineFault
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.model.ids import NodeName, WorkerId, node_subject
from metalwright.model.spec import StoredSpec
from metalwright.ports import Fence, NodeChange
from metalwright.service.sequencer import Sequencer
from metalwright.store import SqlStore, open_store
from tests.fast.evidence.small_log import NOW, statement
from tests.fast.gates.cases import SPEC


class Crash(Exception):
    """The process ends here."""


class CrashingStore:
    """The real store, but for an append that never comes: everything else is passed on."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def append(self, entries: Sequence[LogEntry], checkpoint: Checkpoint, previous_size: int) -> bool:
        raise Crash

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


async def fence(store: SqlStore) -> Fence:
    await store.adopt_spec(StoredSpec(digest="sha256:1", spec=SPEC, profiles={}), NOW)
    return next(each for each in await store.claim(WorkerId("w"), 60.0) if each.shard == "r01")


async def put(store: SqlStore, held: Fence, *statements: PendingStatement) -> None:
    change = NodeChange(subject=node_subject(NodeName("atlas01")), next_due_at=NOW, statements=statements)
    await store.commit([change], held)


def scene(folder: Path, play: Callable[[SqlStore, FileSigner, Fence], Awaitable[None]]) -> None:
    async def run() -> None:
        store = open_store(f"sqlite:///{folder / 'site.db'}")
        await store.open()
        try:
            await play(store, open_log(folder, "atlas", simulated=True), await fence(store))
        finally:
            await store.close()

    asyncio.run(run())


def test_a_crash_between_signing_and_committing_is_made_good(tmp_path: Path) -> None:
    """The batch that was signed is made again exactly, although more is pending by then; nothing twice."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        await put(store, held, statement(1), statement(2))
        with pytest.raises(Crash):
            await Sequencer(CrashingStore(store), signer).round(NOW)  # type: ignore[arg-type]
        signed = signer.last_signed()
        assert (signed.size, await store.size()) == (2, 0)
        await put(store, held, statement(3))
        after = Sequencer(store, signer)
        assert await after.round(NOW + 5) == 2
        checkpoint = await store.checkpoint()
        assert checkpoint is not None and checkpoint.root == f"sha256:{signed.root}"
        assert await after.round(NOW + 6) == 1
        keys = [entry.key for entry in await store.entries(0, 3)]
        assert keys == [statement(1).key, statement(2).key, statement(3).key]

    scene(tmp_path, play)


def test_a_statement_is_logged_once(tmp_path: Path) -> None:
    """The same key pending twice, before and after it was logged, is one record."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        sequencer = Sequencer(store, signer)
        await put(store, held, statement(1))
        await put(store, held, statement(1))
        assert await sequencer.round(NOW) == 1
        await put(store, held, statement(1))
        assert await sequencer.round(NOW) == 0 and await store.size() == 1

    scene(tmp_path, play)


def test_an_older_database_is_refused(tmp_path: Path) -> None:
    """A database that was put back from before the last checkpoint would fork history: the signer remembers."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        await put(store, held, statement(1))
        await Sequencer(store, signer).round(NOW)
        await store.close()
        shutil.copy(tmp_path / "site.db", tmp_path / "old.db")
        await store.open()
        await put(store, held, statement(2))
        await Sequencer(store, signer).round(NOW)
        await put(store, held, statement(3))
        await Sequencer(store, signer).round(NOW)
        old = open_store(f"sqlite:///{tmp_path / 'old.db'}")
        await old.open()
        try:
            with pytest.raises(MachineFault, match="the log has 1 records"):
                await Sequencer(old, signer).round(NOW)
        finally:
            await old.close()

    scene(tmp_path, play)


def test_the_signers_memory_may_not_vanish(tmp_path: Path) -> None:
    """Without its memory a key cannot tell a fork from the log: refused, with what to do."""
    signer = open_log(tmp_path, "atlas", simulated=True)
    (tmp_path / "log.last-signed.json").unlink()
    with pytest.raises(InputError) as refused:
        signer.last_signed()
    assert "restore it" in refused.value.hint
