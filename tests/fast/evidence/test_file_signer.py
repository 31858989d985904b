"""The log key in a file: it never signs two trees of one size, whatever is put back, torn, or run twice."""

import os
import stat
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.drivers.signing.file_signer import MEMORY, TRUST, FileSigner, create_log, open_log
from metalwright.drivers.signing.log_keys import KEY
from metalwright.evidence.errors import Refused
from metalwright.evidence.memory import memory_bytes, read_memory
from metalwright.evidence.sequence import Batch, LogState, sequence
from metalwright.evidence.trust import read_trust
from metalwright.model.errors import InputError
from tests.fast.evidence.small_log import LOG, NOW, log, statement, statements


def opened(folder: Path, *, simulated: bool = True) -> FileSigner:
    return open_log(folder, "atlas", simulated=simulated, now=NOW)


def test_a_new_log_has_a_key_a_memory_and_a_trust_file(tmp_path: Path) -> None:
    """The key is private, the trust file says the key and `simulated`, and opening again gives the same log."""
    signer = opened(tmp_path)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in (KEY, MEMORY, TRUST)] == [0o600, 0o600, 0o644]
    trust = read_trust((tmp_path / TRUST).read_bytes(), NOW)
    assert (trust.log_keys[0].key.raw, trust.simulated, trust.origin) == (signer.public_key, True, signer.origin)
    again = opened(tmp_path)
    assert (again.origin, again.key_id, again.last_signed().after.size) == (signer.origin, signer.key_id, 0)
    assert not list(tmp_path.glob(".*"))


def test_simulated_is_fixed_when_the_log_is_made(tmp_path: Path) -> None:
    """A site cannot become real, or pretended, afterwards."""
    opened(tmp_path)
    with pytest.raises(InputError, match="simulated was changed"):
        opened(tmp_path, simulated=False)


def test_a_batch_must_go_on_from_the_last(tmp_path: Path) -> None:
    """A batch that does not begin where the memory ends is not remembered, and the memory stays."""
    signer = opened(tmp_path)
    first = sequence(statements(2), LogState(), signer, NOW)
    assert signer.remember(first) and signer.last_signed() == first
    other = sequence([statement(7)], LogState(), signer, NOW)
    longer = sequence(statements(4), LogState(), signer, NOW)
    forked = sequence([statement(8)], other.after, signer, NOW)
    for wrong in (first, other, longer, forked):
        assert not signer.remember(wrong)
    assert signer.last_signed() == first == opened(tmp_path).last_signed()
    assert signer.remember(sequence([statement(9)], first.after, signer, NOW))


def race(folder: str, number: int) -> bool:
    signer = opened(Path(folder))
    return signer.remember(sequence([statement(number)], LogState(), signer, NOW))


def test_of_many_processes_one_signs(tmp_path: Path) -> None:
    """Two sequencers with one key: exactly one tree of one record is ever remembered."""
    opened(tmp_path)
    with get_context("spawn").Pool(2) as pool:
        assert sorted(pool.starmap(race, [(str(tmp_path), number) for number in range(4)])) == [False, False, False, True]


def test_a_torn_or_missing_memory_stops_the_key(tmp_path: Path) -> None:
    """Without its memory a key cannot tell a fork from the log: it signs nothing, and says what to do."""
    signer = opened(tmp_path)
    signer.remember(sequence(statements(2), LogState(), signer, NOW))
    whole = (tmp_path / MEMORY).read_bytes()
    for torn in (whole[:-1], whole[: len(whole) // 2], b"", whole.replace(b"before 0", b"before 1")):
        (tmp_path / MEMORY).write_bytes(torn)
        with pytest.raises(InputError) as refused:
            signer.last_signed()
        assert "backup" in refused.value.hint
    (tmp_path / MEMORY).unlink()
    with pytest.raises(InputError):
        signer.remember(sequence(statements(2), LogState(), signer, NOW))


def test_a_lost_trust_file_never_makes_a_new_key_over_a_log(tmp_path: Path) -> None:
    """A log with records keeps its key, whatever else is gone; half-made files of a log without records are made again."""
    signer = opened(tmp_path)
    (tmp_path / TRUST).unlink()
    opened(tmp_path)
    signer = opened(tmp_path)
    signer.remember(sequence(statements(1), LogState(), signer, NOW))
    key = (tmp_path / KEY).read_bytes()
    for lost in ((TRUST,), (TRUST, MEMORY)):
        for name in lost:
            (tmp_path / name).unlink(missing_ok=True)
        if MEMORY in lost:
            (tmp_path / MEMORY).write_bytes(b"torn")
        with pytest.raises(InputError, match="is missing"):
            opened(tmp_path)
        assert (tmp_path / KEY).read_bytes() == key


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """As OpenSSH does, with the command that mends it."""
    opened(tmp_path)
    os.chmod(tmp_path / KEY, 0o644)
    with pytest.raises(InputError) as refused:
        opened(tmp_path)
    assert "chmod 600" in refused.value.hint


def test_a_key_of_another_log_is_refused(tmp_path: Path) -> None:
    """Key and trust file belong together; a trust file that was edited is none."""
    opened(tmp_path)
    (tmp_path / "other").mkdir()
    opened(tmp_path / "other")
    trust = (tmp_path / TRUST).read_bytes()
    for changed in ((tmp_path / "other" / TRUST).read_bytes(), trust.replace(b'"simulated": true', b'"simulated": false'), b"", b"{}"):
        (tmp_path / TRUST).write_bytes(changed)
        with pytest.raises(InputError, match=r"cannot be used|is not the key|missing"):
            opened(tmp_path)


def test_create_log_makes_what_open_log_opens(tmp_path: Path) -> None:
    """An origin of one's own."""
    create_log(tmp_path, "example.org/logs/7", simulated=False, now=NOW)
    assert opened(tmp_path, simulated=False).origin == "example.org/logs/7"


@given(st.lists(st.integers(0, 5), max_size=6))
@settings(deadline=None, max_examples=40)
def test_the_memory_reads_back(sizes: list[int]) -> None:
    """After any batches, the memory's file gives the newest batch, to the byte."""
    state, number = LogState(), 0
    batch = log(0)
    for size in sizes:
        batch = sequence([statement(number + more) for more in range(size)], state, LOG, NOW + number)
        state, number = batch.after, number + size
        assert read_memory(memory_bytes(batch)) == batch


def test_no_byte_of_the_memory_can_change() -> None:
    """A disk that rots, or a hand that helps, is noticed."""
    whole = memory_bytes(log(2))
    for at in range(len(whole)):
        with pytest.raises(Refused):
            read_memory(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    for batch in (replace(log(2), before=log(1).after), replace(log(2), checkpoint=log(3).checkpoint)):
        with pytest.raises(Refused):
            read_memory(memory_bytes(Batch(before=batch.before, after=batch.after, entries=batch.entries, checkpoint=batch.checkpoint)))
