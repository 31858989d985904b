"""A bundle verifies with its trust file alone, and nothing in it can be changed."""

import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.evidence.bundle import CONTEXT, MAX_LINE_BYTES
from metalwright.evidence.checkpoint import Head
from metalwright.evidence.merkle import RightEdge, leaf_hash
from metalwright.evidence.notes import cosign_note
from metalwright.evidence.report import report_json, report_lines
from metalwright.evidence.sequence import Batch, LogState, sequence, sign_checkpoint
from metalwright.evidence.trust import LogKey
from metalwright.evidence.verify import MAX_FAULTS, verify_bundle, verify_stream
from metalwright.model.errors import InvariantError
from metalwright.model.evidence import LogEntry
from tests.fast.evidence.small_log import (
    LOG,
    NOW,
    SPEC,
    TRUST,
    MemorySigner,
    bundle,
    log,
    signed_trust,
    spec,
    statement,
    statements,
    trust_of,
)

WHOLE = bundle()
SMALL = bundle(sequence([replace(each, predicate={}) for each in statements(2)], LogState(), LOG, NOW), spec=spec("S1"))
LINES = WHOLE.splitlines(keepends=True)
HEAD = 5
"""Lines before the first record."""


def is_valid(data: bytes) -> bool:
    return verify_bundle(data, TRUST, NOW + 2).is_valid


def faults(data: bytes, trust: bytes = TRUST) -> str:
    """The faults in words; a bundle that is valid has none, which fails a test that looks for one."""
    return "\n".join(str(fault) for fault in verify_bundle(data, trust, NOW + 2).faults)


def resealed(body: bytes, signer: MemorySigner = LOG) -> bytes:
    """The lines before `digest`, with a right digest and signature: what only the holder of the log key can make."""

    digest = hashlib.sha256(body).hexdigest()
    return body + f"digest {digest}\nsignature {base64.b64encode(signer.sign(CONTEXT + digest.encode())).decode()}\n".encode()


def test_a_whole_bundle_is_valid() -> None:
    """Valid and complete, with the current state of every serial."""
    report = verify_bundle(WHOLE, TRUST, NOW + 2)
    assert report.is_valid and report.is_complete and report.records == 4 and report.simulated
    assert [(state.serial, state.node, state.index, dict(state.gates)) for state in report.serials] == [
        ("S1", "a01", 2, {"os": "green"}),
        ("S2", "a02", 3, {"os": "green"}),
    ]
    assert report_json(report)["valid"] is True and list(report_lines(report))[-1] == "valid"
    assert "simulated site: not evidence of real hardware" in list(report_lines(report))


def test_an_empty_log_is_valid_and_accounts_for_nothing() -> None:
    """No record yet: every byte verifies, no serial has a state."""
    report = verify_bundle(bundle(log(0)), TRUST, NOW + 2)
    assert report.is_valid and not report.is_complete and report.unaccounted == ("S1", "S2")
    assert list(report_lines(report))[-1] == "valid, but not complete"


# -- every byte ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0x01, 0x20])
def test_every_changed_byte_is_refused(bits: int) -> None:
    """Each byte of the file in turn becomes another: never valid. Inside a record, the report names that record."""
    starts = [(match.start(), match.end(), int(match[1])) for match in re.finditer(rb"^record (\d+) [^\n]*", SMALL, re.MULTILINE)]
    for at in range(len(SMALL)):
        changed = bytearray(SMALL)
        changed[at] ^= bits
        report = verify_bundle(bytes(changed), TRUST, NOW + 2)
        assert not report.is_valid, f"byte {at} of {len(SMALL)}"
        for start, end, number in starts:
            if start <= at < end and changed[at] not in b"\n":
                words = " ".join(str(fault) for fault in report.faults)
                assert f"record {number}" in words or f"line {HEAD + 1 + number}" in words, (at, words)


def test_every_dropped_byte_is_refused() -> None:
    """Each byte in turn is taken out."""
    assert not any(is_valid(SMALL[:at] + SMALL[at + 1 :]) for at in range(len(SMALL)))


@pytest.mark.parametrize("byte", [b"\n", b"0"])
def test_every_added_byte_is_refused(byte: bytes) -> None:
    """A byte is put in at each place, the end included."""
    assert not any(is_valid(SMALL[:at] + byte + SMALL[at:]) for at in range(len(SMALL) + 1))


def test_every_truncation_is_refused() -> None:
    """Cut at any length, also at the end of a line: the report says that the file ends too early."""
    for length in range(len(SMALL)):
        report = verify_bundle(SMALL[:length], TRUST, NOW + 2)
        assert not report.is_valid, length
        if SMALL[:length].endswith(b"\n"):
            assert "truncated" in report.faults[-1].why


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_edit_is_refused(data: st.DataObject) -> None:
    """Any stretch replaced by any bytes."""
    start = data.draw(st.integers(0, len(SMALL)))
    end = data.draw(st.integers(start, min(len(SMALL), start + 50)))
    inserted = data.draw(st.binary(max_size=50))
    changed = SMALL[:start] + inserted + SMALL[end:]
    assert is_valid(changed) is (changed == SMALL)


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_refused_with_words(data: bytes) -> None:
    """No input makes the verifier raise."""
    for report in (verify_bundle(data, TRUST, NOW), verify_bundle(WHOLE, data, NOW)):
        assert not report.is_valid and report.faults[0].why


# -- lines ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(len(LINES)))
def test_lines_dropped_doubled_or_moved_are_refused(at: int) -> None:
    """Every line dropped, doubled, moved by one, or exchanged with any other."""
    versions = [LINES[:at] + LINES[at + 1 :], [*LINES[: at + 1], *LINES[at:]]]
    for other in range(at + 1, len(LINES)):
        moved = list(LINES)
        moved[at], moved[other] = moved[other], moved[at]
        versions.append(moved)
    for version in versions:
        assert not is_valid(b"".join(version))


def test_other_line_ends_and_encodings_are_refused() -> None:
    """CRLF, a byte order mark, UTF-16, a missing last newline, a comment."""
    for changed in (
        WHOLE.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + WHOLE,
        WHOLE.decode().encode("utf-16"),
        WHOLE.rstrip(b"\n"),
        WHOLE.replace(b"\nspec ", b"\n# comment\nspec "),
        WHOLE.replace(b"\nspec ", b"\n\nspec "),
        WHOLE + WHOLE,
        WHOLE.upper(),
    ):
        assert not is_valid(changed)


# -- what the holder of the log key could try ----------------------------------------------------------------------------------


def renumbered(entries: list[LogEntry]) -> tuple[LogEntry, ...]:
    return tuple(replace(entry, index=index) for index, entry in enumerate(entries))


@pytest.mark.parametrize("name", ["dropped last", "dropped first", "dropped middle", "doubled", "reversed", "swapped"])
def test_a_resealed_rewrite_of_history_is_refused(name: str) -> None:
    """The log's own key signs a new checkpoint and seal over other records: each record was signed for its place."""
    entries = list(log().entries)
    entries = {
        "dropped last": entries[:-1],
        "dropped first": entries[1:],
        "dropped middle": [*entries[:1], *entries[2:]],
        "doubled": [*entries, entries[0]],
        "reversed": entries[::-1],
        "swapped": [entries[1], entries[0], *entries[2:]],
    }[name]
    numbered = renumbered(entries)
    state = LogState(edge=RightEdge().extend(leaf_hash(entry.envelope) for entry in numbered), time_ms=int(NOW * 1000))
    old = log()
    with_old_note = Batch(before=LogState(), after=state, entries=numbered, checkpoint=replace(old.checkpoint, size=len(numbered)))
    assert "checkpoint" in faults(bundle(with_old_note)) or "record" in faults(bundle(with_old_note))
    with_new_note = replace(with_old_note, checkpoint=sign_checkpoint(state, LOG))
    report = verify_bundle(bundle(with_new_note), TRUST, NOW + 2, since=[Head(origin=LOG.origin, size=4, root=old.after.root)])
    assert not report.is_valid
    if name != "dropped last":
        assert any(fault.index is not None and "signed as record" in fault.why for fault in report.faults)


def test_a_fork_is_caught_by_an_earlier_checkpoint() -> None:
    """A whole second history by the log's own key verifies alone; beside a checkpoint that somebody kept it does not."""
    kept = log(3)
    fork = sequence([statement(9), *statements(4)], LogState(), LOG, NOW)
    assert verify_bundle(bundle(fork), TRUST, NOW + 2).is_valid
    since = [Head(origin=LOG.origin, size=3, root=kept.after.root)]
    assert "rewritten" in str(verify_bundle(bundle(fork), TRUST, NOW + 2, since=since).faults[0])
    longer = sequence(statements(5)[3:], kept.after, LOG, NOW)
    whole = Batch(before=LogState(), after=longer.after, entries=kept.entries + longer.entries, checkpoint=longer.checkpoint)
    report = verify_bundle(bundle(whole), TRUST, NOW + 2, since=since)
    assert report.is_valid and report.consistent_with == (3,)
    shorter = verify_bundle(bundle(log(2)), TRUST, NOW + 2, since=since)
    assert "it had 3 records, the bundle has 2" in str(shorter.faults[0])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"serial UzE= 2\n", b"", "exactly one current state"),
        (b"serial UzE= 2\n", b"serial UzE= 2\nserial UzE= 2\n", "exactly one current state"),
        (b"serial UzE= 2\n", b"serial UzE= 0\n", "exactly one current state"),
        (b"serial UzE= 2\n", b"serial UzE= -\n", "exactly one current state"),
        (b"serial UzI= 3\n", b"serial UzI= 3\nserial UzM= 3\n", "`checkpoint` is expected"),
        (b"simulated true\n", b"simulated false\n", "`simulated`"),
        (b"exported 1760000001000\n", b"exported 1900000000000\n", "in the future"),
        (b"exported 1760000001000\n", b"exported 1750000000000\n", "after the export"),
        (b"exported 1760000001000\n", b"exported 01760000001000\n", "one spelling"),
        (b"exported 1760000001000\n", b"exported 1760000001000 \n", "one spelling"),
        (b"origin metalwright.log/atlas/1\n", b"origin metalwright.log/atlas/2\n", "trust file is of log"),
        (b"record 1 ", b"record 01 ", "record 1 is expected"),
        (b"\nspec ", b"\nspec 0", "not the one that its digest names"),
    ],
)
def test_a_resealed_edit_is_refused(old: bytes, new: bytes, why: str) -> None:
    """Not only the seal holds the file: each line is held by what it says."""
    assert WHOLE.count(old) == 1
    body = WHOLE.replace(old, new)
    assert why in faults(resealed(body[: body.index(b"\ndigest ") + 1]))


def test_a_seal_by_another_key_is_refused() -> None:
    """The log's records and checkpoint, sealed by somebody else."""
    assert "signature of the bundle" in faults(resealed(WHOLE[: WHOLE.index(b"\ndigest ") + 1], MemorySigner(seed=2)))


def test_another_log_is_refused() -> None:
    """A whole bundle of another key, of another origin, of a real site."""
    for signer in (MemorySigner(seed=2), MemorySigner(origin="other"), MemorySigner(simulated=False)):
        other = bundle(log(4, signer), signer=signer, spec=spec("S1", "S2", simulated=signer.simulated))
        assert verify_bundle(other, signed_trust(trust_of(signer), signer), NOW + 2).is_valid
        assert not verify_bundle(other, TRUST, NOW + 2).is_valid


def test_a_simulated_spec_under_a_real_log_is_refused() -> None:
    """The spec, the header, every record and the trust file say the same."""
    real = MemorySigner(simulated=False)
    data = bundle(log(4, real), signer=real, spec=spec("S1", "S2", simulated=True))
    assert "the spec's `simulated`" in faults(data, signed_trust(trust_of(real), real))


def test_one_thing_is_said_once() -> None:
    """A doubled record, signed for two places, is refused: evidence is not doubled."""
    batch = sequence([statement(1), statement(1)], LogState(), LOG, NOW)
    assert "record 1 (gate node:a01): what it says" in faults(bundle(batch))


def test_log_time_must_not_go_back() -> None:
    """Even when the key signs it."""
    first = sequence([statement(1)], LogState(), LOG, NOW)
    back = sequence([statement(2)], replace(first.after, time_ms=0), LOG, NOW - 60)
    batch = Batch(before=LogState(), after=back.after, entries=first.entries + back.entries, checkpoint=back.checkpoint)
    assert "before that of the record before it" in faults(bundle(batch))


# -- witnesses and keys --------------------------------------------------------------------------------------------------------


def test_witnesses_must_have_cosigned() -> None:
    """As many as the trust file asks for, each once, and nobody that it does not name."""
    first, second, stranger = (MemorySigner(seed=seed) for seed in (11, 12, 13))
    trust = signed_trust(trust_of(witnesses=(first.witness("w/1"), second.witness("w/2")), witness_threshold=2))
    batch = log()

    def cosigned(*by: tuple[MemorySigner, str]) -> bytes:
        note = batch.checkpoint.note
        for signer, name in by:
            note = cosign_note(note, signer.witness(name), int(NOW), signer.sign)
        return bundle(replace(batch, checkpoint=replace(batch.checkpoint, note=note)))

    report = verify_bundle(cosigned((first, "w/1"), (second, "w/2")), trust, NOW + 2)
    assert report.is_valid and report.witnesses == (("w/1", int(NOW)), ("w/2", int(NOW)))
    assert "cosigned by 1 witnesses, 2 are needed" in faults(cosigned((first, "w/1")), trust)
    assert "at most once" in faults(cosigned((first, "w/1"), (first, "w/1")), trust)
    assert "nobody else" in faults(cosigned((first, "w/1"), (second, "w/2"), (stranger, "w/3")), trust)
    assert "nobody else" in faults(cosigned((first, "w/1")))


def test_a_retired_key_signs_nothing_new() -> None:
    """Two log keys, each in force for its records: either at the other's place is refused."""
    old, new = MemorySigner(seed=1), MemorySigner(seed=5)
    trust = signed_trust(trust_of(log_keys=(LogKey(key=old.public, from_index=0), LogKey(key=new.public, from_index=2))))
    first = sequence(statements(2), LogState(), old, NOW)

    def then(signer: MemorySigner) -> bytes:
        second = sequence(statements(4)[2:], first.after, signer, NOW)
        both = Batch(before=LogState(), after=second.after, entries=first.entries + second.entries, checkpoint=second.checkpoint)
        return bundle(both, signer=signer)

    assert verify_bundle(then(new), trust, NOW + 2).is_valid
    assert "record 2 (gate node:a01): signed with key" in faults(then(old), trust)
    assert "record 0" in faults(bundle(log(4, new), signer=new), trust)


# -- completeness --------------------------------------------------------------------------------------------------------------


def test_every_serial_has_exactly_one_state() -> None:
    """Machines by their own records, parts by their machine's or their own, what was bought and never seen by name."""
    purchase: list[dict[str, Any]] = [
        {"serial": "S1", "node_serial": None},
        {"serial": "GPU1", "node_serial": "S1"},
        {"serial": "GPU9", "node_serial": "S9"},
        {"serial": "SPARE", "node_serial": None},
        {"serial": None, "node_serial": None},
    ]
    batch = sequence(
        [
            statement(1, verdict="red"),
            statement(2, gate="inventory"),
            statement(3),
            replace(statement(4), kind="wipe", subjects=(("part:GPU1", "cd" * 32),)),
        ],
        LogState(),
        LOG,
        NOW,
    )
    report = verify_bundle(bundle(batch, spec=spec("S1", "S2", purchase=purchase)), TRUST, NOW + 2)
    states = {state.serial: (state.node, state.part_of, state.index, dict(state.gates)) for state in report.serials}
    assert report.is_valid and states == {
        "S1": ("a01", "", 2, {"os": "green", "inventory": "green"}),
        "S2": ("a02", "", None, {}),
        "S9": ("", "", None, {}),
        "SPARE": ("", "", None, {}),
        "GPU1": ("a01", "S1", 3, {"os": "green", "inventory": "green"}),
        "GPU9": ("", "S9", None, {}),
    }
    assert set(report.unaccounted) == {"S2", "S9", "SPARE", "GPU9"}


@pytest.mark.parametrize(
    "broken",
    [
        b"{}", b"[]", b"null", b"\xff", b'{"spec":{"nodes":[],"nodes":[]}}', b"[" * 100_000,
        spec("S1", "S1"),
        spec("S1", purchase=[{"serial": "P", "node_serial": "S1"}, {"serial": "P", "node_serial": "S2"}]),
        spec("S1", purchase=[{"serial": "P", "node_serial": "Q"}, {"serial": "Q", "node_serial": "S1"}]),
        spec("S1", ""), spec("S1", purchase=[{"serial": 7}]), spec("S1", purchase=[7]),  # type: ignore[list-item]
        spec("S1").replace(b'"simulated": true', b'"simulated": 1'), spec("S1").replace(b'"nodes"', b'"knots"'),
    ],
)  # fmt: skip
def test_a_spec_that_cannot_be_complete_is_refused(broken: bytes) -> None:
    """Signed or not: what names a serial twice, or is no spec at all, has no complete states."""
    data = WHOLE.replace(LINES[4], b"spec %b %b\n" % (hashlib.sha256(broken).hexdigest().encode(), base64.b64encode(broken)))
    assert faults(data).startswith("line 5: ")


# -- hostile files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evil", [b"[" * 100_000, b'{"payload":"","payload":""}', b"{}", b"", b'{"a":' * 5000 + b"1" + b"}" * 5000])
def test_hostile_records_are_named(evil: bytes) -> None:
    """Deep, doubled and empty JSON: a fault of that record, and no other error."""
    assert "record 1" in faults(b"".join([*LINES[: HEAD + 1], b"record 1 " + evil + b"\n", *LINES[HEAD + 2 :]]))


def test_a_gigabyte_of_forgery_is_given_up_early() -> None:
    """A long file of unsigned records costs twenty looks; a line without an end costs one line."""

    class Forever(io.BytesIO):
        """A stream that goes on for ever and counts what is taken from it."""

        taken = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size) or b"record %d %b\n" % (self.taken, log(1).entries[0].envelope)
            self.taken += line.startswith(b"record")
            return line

    stream = Forever(b"".join(LINES[:HEAD]))
    report = verify_stream(stream, TRUST, NOW + 2)
    assert not report.is_valid and "was not looked at" in report.faults[-1].why
    assert stream.taken <= MAX_FAULTS + 1
    endless = io.BytesIO(b"".join(LINES[:HEAD]) + b"record 0 " + b"x" * (MAX_LINE_BYTES + 10))
    assert "longer than any line" in str(verify_stream(endless, TRUST, NOW + 2).faults[0])


def test_a_faulty_record_does_not_hide_another() -> None:
    """Two changed records are both named, with what they claim to be."""
    lines = [line.replace(b'"sig":"', b'"sig":"A', 1).replace(b'=="}]', b'="}]') for line in LINES]
    data = b"".join([*LINES[: HEAD + 1], lines[HEAD + 1], LINES[HEAD + 2], lines[HEAD + 3], *LINES[HEAD + 4 :]])
    named = [(fault.index, fault.kind, fault.about) for fault in verify_bundle(data, TRUST, NOW + 2).faults if fault.index is not None]
    assert named == [(1, "gate", "node:a02"), (3, "gate", "node:a02")]


# -- export --------------------------------------------------------------------------------------------------------------------


def test_the_export_refuses_a_log_with_a_hole() -> None:
    """A database that lost a record is our bug or an attack: nothing is signed over it."""
    batch = log()
    for entries in (batch.entries[1:], batch.entries[:-1], batch.entries[::-1]):
        with pytest.raises(InvariantError):
            bundle(replace(batch, entries=entries))


def test_a_bundle_is_text_for_people_too() -> None:
    """ASCII lines; each record's envelope stands there as JSON; the spec decodes."""
    lines = WHOLE.decode("ascii").splitlines()
    assert json.loads(lines[HEAD].removeprefix("record 0 "))["payloadType"] == "application/vnd.in-toto+json"
    assert base64.b64decode(lines[4].split(" ")[2]) == SPEC
