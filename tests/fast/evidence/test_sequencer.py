"""The sequencer over a real store: crashes between signing and committing lose and double nothing; old databases are refused."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from metalwright.drivers.signing.file_signer import MEMORY, FileSigner, open_log
from metalwright.evidence.bundle import export_bundle
from metalwright.evidence.trust import trust_file, trust_payload
from metalwright.evidence.verify import verify_bundle
from metalwright.model.errors import MachineFault
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.model.ids import NodeName, WorkerId, node_subject
from metalwright.model.spec import StoredSpec
from metalwright.ports import Fence, NodeChange
from metalwright.service.sequencer import Sequencer
from metalwright.store import SqlStore, open_store
from tests.fast.evidence.small_log import NOW, SPEC, statement
from tests.fast.gates import cases


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
    await store.adopt_spec(StoredSpec(digest="sha256:1", spec=cases.SPEC, profiles={}), NOW)
    return next(each for each in await store.claim(WorkerId("w"), 60.0) if each.shard == "r01")


async def put(store: SqlStore, held: Fence, *statements: PendingStatement) -> None:
    change = NodeChange(subject=node_subject(NodeName("atlas01")), next_due_at=NOW, statements=statements)
    await store.commit([change], held)


def opened(folder: Path) -> FileSigner:
    return open_log(folder, "atlas", simulated=True, now=NOW)


def scene(folder: Path, play: Callable[[SqlStore, FileSigner, Fence], Awaitable[None]]) -> None:
    async def run() -> None:
        store = open_store(f"sqlite:///{folder / 'site.db'}")
        await store.open()
        try:
            await play(store, opened(folder), await fence(store))
        finally:
            await store.close()

    asyncio.run(run())


async def check_whole(store: SqlStore, signer: FileSigner, keys: Sequence[str]) -> None:
    """The log is exactly these statements, and its export verifies."""
    entries, checkpoint = await store.entries(0, await store.size()), await store.checkpoint()
    assert [entry.key for entry in entries] == list(keys) and checkpoint is not None
    data = export_bundle(spec=SPEC, entries=entries, checkpoint=checkpoint, signer=signer, now=NOW + 100)
    trust = trust_file(signer.trust, {signer.key_id: signer.sign(trust_payload(signer.trust))})
    assert verify_bundle(data, trust, NOW + 200).faults == ()


def test_a_crash_between_signing_and_committing_is_made_good(tmp_path: Path) -> None:
    """The bytes that were signed are committed, although the clock went on and more is pending by then; nothing twice."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        await put(store, held, statement(1), statement(2))
        with pytest.raises(Crash):
            await Sequencer(CrashingStore(store), signer).round(NOW)  # type: ignore[arg-type]
        signed = signer.last_signed()
        assert (signed.after.size, await store.size()) == (2, 0)
        await put(store, held, statement(3))
        after = Sequencer(store, opened(tmp_path))
        assert await after.round(NOW + 5) == 2
        assert await store.entries(0, 2) == list(signed.entries) and await store.checkpoint() == signed.checkpoint
        assert [await after.round(NOW + 6), await after.round(NOW + 7)] == [1, 0]
        await check_whole(store, signer, [statement(number).key for number in (1, 2, 3)])

    scene(tmp_path, play)


def test_crashes_at_every_round(tmp_path: Path) -> None:
    """Signed and lost, again and again: each batch is committed once, in order."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        for number in range(4):
            await put(store, held, statement(number))
            with pytest.raises(Crash):
                await Sequencer(CrashingStore(store), signer).round(NOW + number)  # type: ignore[arg-type]
            with pytest.raises(Crash):
                await Sequencer(CrashingStore(store), signer).round(NOW + number)  # type: ignore[arg-type]
            assert await Sequencer(store, opened(tmp_path)).round(NOW - number) == 1
        await check_whole(store, signer, [statement(number).key for number in range(4)])

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


def test_a_sequencer_that_slept_forks_nothing(tmp_path: Path) -> None:
    """Two sequencers with one key and one database: whoever is late appends nothing, and the log stays one."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        first, second = Sequencer(store, signer), Sequencer(store, opened(tmp_path))
        for number in range(6):
            await put(store, held, statement(number))
            await asyncio.gather(first.round(NOW + number), second.round(NOW + number))
        while await first.round(NOW + 9) + await second.round(NOW + 9):
            pass
        await check_whole(store, signer, [statement(number).key for number in range(6)])

    scene(tmp_path, play)


async def grown(store: SqlStore, signer: FileSigner, held: Fence, first: int, count: int) -> None:
    for number in range(first, first + count):
        await put(store, held, statement(number))
        assert await Sequencer(store, signer).round(NOW + number) == 1


def test_an_older_database_is_refused(tmp_path: Path) -> None:
    """A database that was put back from before the last batch would fork history: the signer remembers, and says what to do."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        await grown(store, signer, held, 1, 1)
        await store.close()
        shutil.copy(tmp_path / "site.db", tmp_path / "old.db")
        await store.open()
        await grown(store, signer, held, 2, 2)
        old = open_store(f"sqlite:///{tmp_path / 'old.db'}")
        await old.open()
        try:
            for _ in range(2):
                with pytest.raises(MachineFault, match="the log has 1 records") as refused:
                    await Sequencer(old, signer).round(NOW)
                assert "new log" in refused.value.hint
            assert await old.size() == 1
        finally:
            await old.close()
        await check_whole(store, signer, [statement(number).key for number in (1, 2, 3)])

    scene(tmp_path, play)


def test_a_database_of_another_history_is_refused(tmp_path: Path) -> None:
    """As many records, but others: the root tells."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        (tmp_path / "other").mkdir()
        other = opened(tmp_path / "other")
        await grown(store, other, held, 1, 2)
        await put(store, held, statement(3))
        fork = Sequencer(store, signer)
        with pytest.raises(MachineFault, match="not the one its key signed"):
            await fork.round(NOW)
        assert signer.last_signed().after.size == 0 and await store.size() == 2

    scene(tmp_path, play)


def test_a_memory_put_back_learns_what_the_key_signed(tmp_path: Path) -> None:
    """An older state folder beside the newest database: every record is the key's, so the key goes on from there."""

    async def play(store: SqlStore, signer: FileSigner, held: Fence) -> None:
        await grown(store, signer, held, 1, 1)
        old = (tmp_path / MEMORY).read_bytes()
        await grown(store, signer, held, 2, 3)
        (tmp_path / MEMORY).write_bytes(old)
        later = opened(tmp_path)
        await put(store, held, statement(9))
        assert [await Sequencer(store, later).round(NOW + 20) for _ in range(2)] == [0, 1]
        await check_whole(store, signer, [statement(number).key for number in (1, 2, 3, 4, 9)])

    scene(tmp_path, play)
