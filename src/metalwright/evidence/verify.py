"""Verifies a bundle with the trust file alone: no network, no store, one pass, memory for one line and the serials.

    every line in its place and its one spelling → every record (signature, place, time) → root against the signed checkpoint
    → witnesses → serials → digest and signature over every byte

A record that is wrong does not stop the pass, so that the report names every one; a line that is out of place does, because nothing
after it can be told apart from anything else. After `MAX_FAULTS` a forged file gets no more of our time.
"""

import hashlib
import io
from collections.abc import Iterable

from metalwright.evidence import bundle
from metalwright.evidence.canonical import from_base64, read_number
from metalwright.evidence.checkpoint import Head, read_checkpoint
from metalwright.evidence.completeness import Current, NewestRecords, Serials, read_serials
from metalwright.evidence.envelope import open_envelope, peek_payload
from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import RightEdge, leaf_hash
from metalwright.evidence.notes import open_note
from metalwright.evidence.report import Fault, VerifyReport
from metalwright.evidence.signed_records import SignedRecords
from metalwright.evidence.statement import Statement, read_statement
from metalwright.evidence.trust import Trust, read_next_trust, read_trust
from metalwright.model.ids import Instant

FUTURE_S = 300.0
"""Clocks differ; an export from further ahead was not made by this log's collector."""

MAX_FAULTS = 20


def verify_bundle(
    data: bytes, trust: bytes, now: Instant, *, newer_trust: Iterable[bytes] = (), since: Iterable[Head] = ()
) -> VerifyReport:
    """Verify a bundle held in memory; see `verify_stream`."""
    return verify_stream(io.BytesIO(data), trust, now, newer_trust=newer_trust, since=since)


def verify_stream(
    stream: "io.BufferedIOBase | io.BytesIO", trust: bytes, now: Instant, *, newer_trust: Iterable[bytes] = (), since: Iterable[Head] = ()
) -> VerifyReport:
    """Verify a bundle read line by line.

    `newer_trust`: versions that follow `trust`, each signed by the roots of the one before. `since`: heads of checkpoints seen earlier;
    the bundle must go on from each of them. Never raises for what a file says: it is in the report's faults.
    """
    try:
        trusted = read_trust(trust, now)
        for newer in newer_trust:
            trusted = read_next_trust(trusted, newer, now)
    except Refused as refused:
        return VerifyReport(faults=(Fault(where=refused.where, why=refused.why),))
    run = _Run(_Lines(stream), trusted, now, tuple(since))
    try:
        run.verify()
    except _Enough:
        pass
    except Refused as refused:
        run.faults.append(Fault(where=refused.where, why=refused.why))
    return run.report()


class _Enough(Exception):
    """So many faults that looking further is no use."""


class _Lines:
    """Lines of a stream, each with a number, bounded, and their running digest."""

    def __init__(self, stream: "io.BufferedIOBase | io.BytesIO") -> None:
        self._stream, self._sha256 = stream, hashlib.sha256()
        self.number = 0

    @property
    def where(self) -> str:
        return f"line {self.number}"

    @property
    def digest(self) -> str:
        """sha256 hex of every byte taken so far."""
        return self._sha256.hexdigest()

    def take(self) -> tuple[str, str]:
        """The next line as its first word and the rest."""
        self.number += 1
        line = self._stream.readline(bundle.MAX_LINE_BYTES + 1)
        if not line:
            raise Refused(self.where, "the file ends here: it was truncated")
        if not line.endswith(b"\n"):
            why = "longer than any line of a bundle" if len(line) > bundle.MAX_LINE_BYTES else "the file ends in the middle of a line"
            raise Refused(self.where, why)
        self._sha256.update(line)
        try:
            text = line[:-1].decode("ascii")
        except UnicodeDecodeError as error:
            raise Refused(self.where, f"a byte that is not ASCII, at column {error.start + 1}") from error
        word, _, value = text.partition(" ")
        return word, value

    def value(self, wanted: str) -> str:
        """The rest of the next line, whose first word must be `wanted`."""
        word, value = self.take()
        self.expect(word, wanted)
        return value

    def expect(self, word: str, wanted: str) -> None:
        """Refused unless the line that was just taken begins with this word."""
        if word != wanted:
            raise Refused(self.where, f"`{wanted}` is expected here, found {word[:20]!r}")

    def end(self) -> None:
        """Refused when anything follows."""
        if self._stream.read(1):
            raise Refused(f"line {self.number + 1}", "something follows the signature: no bundle goes on here")


class _Run:
    """One pass over one bundle."""

    def __init__(self, lines: _Lines, trust: Trust, now: Instant, since: tuple[Head, ...]) -> None:
        self._lines, self._trust, self._now = lines, trust, now
        self._since = sorted(since, key=lambda head: head.size)
        self._edge = RightEdge()
        self._time_ms = 0
        self._keys: set[bytes] = set()
        self._signed = SignedRecords()
        self._exported_ms = 0
        self._spec_digest = ""
        self._states: tuple[Current, ...] = ()
        self._witnesses: tuple[tuple[str, int], ...] = ()
        self._consistent: list[int] = []
        self._cited = ""
        self._is_whole = False
        self.faults: list[Fault] = []

    def verify(self) -> None:
        """The recipe. Refused for a line that is out of place; other faults are collected."""
        serials = self._head()
        newest = NewestRecords(serials)
        word, value = self._lines.take()
        while word == "record":
            self._record(value, newest)
            word, value = self._lines.take()
        self._check_since(last=True)
        self._states = tuple(newest.current())
        for wanted in newest.lines():
            if f"{word} {value}" != wanted:
                state = from_base64(wanted.split(" ")[1], "serial").decode()
                raise Refused(self._lines.where, f"`{wanted}` is expected here: serial {state} has not exactly one current state")
            word, value = self._lines.take()
        self._lines.expect(word, "checkpoint")
        self._checkpoint(from_base64(value, self._lines.where))
        self._seal()
        self._is_whole = True

    def _head(self) -> Serials:
        lines = self._lines
        first = " ".join(lines.take())
        if first != bundle.FIRST_LINE:
            raise Refused(lines.where, f"not {bundle.FIRST_LINE!r}")
        if (origin := lines.value("origin")) != self._trust.origin:
            raise Refused(lines.where, f"a bundle of log {origin[:80]!r}; the trust file is of log {self._trust.origin!r}")
        if lines.value("simulated") != ("true" if self._trust.simulated else "false"):
            raise Refused(lines.where, "`simulated` is not what the trust file says")
        self._exported_ms = read_number(lines.value("exported"), lines.where)
        if self._exported_ms > (self._now + FUTURE_S) * 1000:
            raise Refused(lines.where, "exported in the future")
        digest, _, encoded = lines.value("spec").partition(" ")
        body = from_base64(encoded, lines.where)
        if hashlib.sha256(body).hexdigest() != digest:
            raise Refused(lines.where, "the spec is not the one that its digest names")
        serials = read_serials(body, lines.where)
        if serials.simulated is not self._trust.simulated:
            raise Refused(lines.where, "the spec's `simulated` is not what the trust file says")
        self._spec_digest = serials.digest
        return serials

    # -- records ---------------------------------------------------------------------------------------------------------------

    def _record(self, value: str, newest: NewestRecords) -> None:
        index, where = self._edge.size, f"record {self._edge.size}"
        number, _, text = value.partition(" ")
        if number != str(index):
            raise Refused(self._lines.where, f"record {index} is expected here, found {number[:20]!r}: dropped, added or moved")
        envelope = text.encode()
        try:
            statement = read_statement(open_envelope(envelope, self._trust.log_key(index), where), where)
            self._check_place(statement, index, where)
            self._signed.see(statement, where)
        except Refused as refused:
            self._fault(refused, envelope, index)
        else:
            newest.see(index, statement)
            if statement.kind == "gate" and statement.predicate.get("gate") == "plan":
                self._cited = str(statement.predicate.get("spec_digest", ""))
        self._check_since()
        self._edge = self._edge.append(leaf_hash(envelope))

    def _check_place(self, statement: Statement, index: int, where: str) -> None:
        place = statement.place
        if place.origin != self._trust.origin:
            raise Refused(where, f"a record of log {place.origin[:80]!r}")
        if place.index != index:
            raise Refused(where, f"signed as record {place.index}: moved, or another was dropped or added")
        if statement.simulated is not self._trust.simulated:
            raise Refused(where, "its `simulated` is not the log's")
        if place.time_ms < self._time_ms:
            raise Refused(where, "its log time is before that of the record before it")
        if place.time_ms > self._exported_ms:
            raise Refused(where, "its log time is after the export")
        key = hashlib.sha256(place.key.encode()).digest()
        if key in self._keys:
            raise Refused(where, f"what it says ({place.key[:80]}) is in the log already")
        self._keys.add(key)
        self._time_ms = place.time_ms

    def _fault(self, refused: Refused, envelope: bytes, index: int) -> None:
        """Says too what the record claims to be; it may claim anything."""
        try:
            claimed = read_statement(peek_payload(envelope), "")
            fault = Fault(where=refused.where, why=refused.why, index=index, kind=claimed.kind, about=claimed.place.about)
        except Refused:
            fault = Fault(where=refused.where, why=refused.why, index=index)
        self.faults.append(fault)
        if len(self.faults) >= MAX_FAULTS:
            self.faults.append(Fault(where=self._lines.where, why=f"{MAX_FAULTS} faults: the rest of the file was not looked at"))
            raise _Enough

    def _check_since(self, *, last: bool = False) -> None:
        """The tree as it stands here against the earlier checkpoints of this size: the log must go on from each of them."""
        while self._since and (self._since[0].size == self._edge.size or last):
            head = self._since.pop(0)
            if head.origin != self._trust.origin:
                self.faults.append(Fault(where="earlier checkpoint", why=f"of log {head.origin[:80]!r}"))
            elif head.size > self._edge.size:
                self.faults.append(Fault(where="earlier checkpoint", why=f"it had {head.size} records, the bundle has {self._edge.size}"))
            elif head.root != self._edge.root():
                self.faults.append(Fault(where="earlier checkpoint", why=f"the first {head.size} records were rewritten since: forked"))
            else:
                self._consistent.append(head.size)

    # -- the end ---------------------------------------------------------------------------------------------------------------

    def _checkpoint(self, data: bytes) -> None:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise Refused("checkpoint", "not text") from error
        note = open_note(text, self._trust.note_keys(self._edge.size), "checkpoint")
        head = read_checkpoint(note.text)
        log, *witnesses = note.signed
        if log.at_s is not None or note.unknown or len({signed.by.id for signed in note.signed}) != len(note.signed):
            raise Refused("checkpoint", "not signed by the log, then at most once by each trusted witness, and by nobody else")
        if len(witnesses) < self._trust.witness_threshold:
            raise Refused("checkpoint", f"cosigned by {len(witnesses)} witnesses, {self._trust.witness_threshold} are needed")
        if head.origin != self._trust.origin:
            raise Refused("checkpoint", f"of log {head.origin[:80]!r}")
        if head.size != self._edge.size:
            raise Refused("checkpoint", f"it covers {head.size} records, the bundle holds {self._edge.size}: dropped or added")
        if head.root != self._edge.root():
            raise Refused("checkpoint", "its root is not that of the records: one was changed, dropped, added or moved")
        self._witnesses = tuple((signed.by.name, signed.at_s or 0) for signed in witnesses)

    def _seal(self) -> None:
        computed = self._lines.digest
        if self._lines.value("digest") != computed:
            raise Refused(self._lines.where, "the digest is not that of the bytes before it: something was changed")
        signature = from_base64(self._lines.value("signature"), self._lines.where)
        keys = {self._trust.log_key(max(0, self._edge.size - 1)), self._trust.log_key(self._edge.size)}  # two just after a rotation
        if not any(key.is_signed(signature, bundle.CONTEXT + computed.encode()) for key in keys):
            raise Refused(self._lines.where, "the signature of the bundle is wrong")
        self._lines.end()

    def report(self) -> VerifyReport:
        """What is known, valid or not."""
        return VerifyReport(
            origin=self._trust.origin,
            simulated=self._trust.simulated,
            records=self._edge.size,
            root=self._edge.root().hex(),
            key_id=self._trust.log_key(max(0, self._edge.size - 1)).key_id,
            trust_version=self._trust.version,
            exported_ms=self._exported_ms,
            last_record_ms=self._time_ms,
            spec_digest=self._spec_digest,
            judged_spec_digest=self._cited,
            witnesses=self._witnesses,
            consistent_with=tuple(self._consistent),
            serials=self._states,
            faults=tuple(self.faults) if self.faults or self._is_whole else (Fault(where="bundle", why="not read to its end"),),
        )
