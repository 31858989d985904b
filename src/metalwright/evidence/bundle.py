"""The bundle: one canonical text with everything a third party needs, and a signed digest over every byte before it.

    metalwright bundle v1
    origin <origin>
    simulated true|false
    exported <milliseconds since 1970 UTC>
    spec <sha256 of the body in hex> <base64 of the spec's JSON>
    record <index> <envelope>               one line per record, index from 0, exact bytes
    serial <serial in base64> <index|->     one line per serial of the spec, sorted by the base64: its newest record
    checkpoint <base64 of the signed note>
    digest <sha256 in hex of every byte before this line>
    signature <base64 of Ed25519 over "metalwright bundle v1\\n" and the digest>

Every line ends with one newline. There is one spelling of everything, and nothing that a reader may ignore.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from metalwright.evidence.canonical import to_base64
from metalwright.evidence.completeness import NewestRecords, read_serials
from metalwright.evidence.envelope import peek_payload
from metalwright.evidence.sequence import Signer
from metalwright.evidence.statement import milliseconds, read_statement
from metalwright.model.errors import InvariantError
from metalwright.model.evidence import Checkpoint, LogEntry
from metalwright.model.ids import Instant

FIRST_LINE = "metalwright bundle v1"
CONTEXT = f"{FIRST_LINE}\n".encode()
MAX_LINE_BYTES = 64 << 20
"""A spec of 100,000 nodes fits; a hostile line is refused before more of it is read."""


def export_bundle(*, spec: bytes, entries: Sequence[LogEntry], checkpoint: Checkpoint, signer: Signer, now: Instant) -> bytes:
    """The whole log, up to the checkpoint, as one file. `spec`: the JSON of a StoredSpec."""
    return b"".join(bundle_chunks(spec=spec, entries=entries, checkpoint=checkpoint, signer=signer, now=now))


def bundle_chunks(*, spec: bytes, entries: Iterable[LogEntry], checkpoint: Checkpoint, signer: Signer, now: Instant) -> Iterator[bytes]:
    """The same in pieces, for a log that is larger than memory. `entries`: exactly those of the checkpoint, in order."""
    writer = BundleWriter(spec=spec, signer=signer, now=now)
    yield writer.head()
    for entry in entries:
        yield writer.record(entry)
    yield writer.end(checkpoint)


class BundleWriter:
    """Writes a bundle from front to back: `head`, every `record`, `end`."""

    def __init__(self, *, spec: bytes, signer: Signer, now: Instant) -> None:
        self._spec, self._signer, self._now = spec, signer, now
        self._newest = NewestRecords(read_serials(spec))
        self._digest = hashlib.sha256()
        self._count = 0

    def head(self) -> bytes:
        """The five lines before the records."""
        return self._lines(
            FIRST_LINE,
            f"origin {self._signer.origin}",
            f"simulated {'true' if self._signer.simulated else 'false'}",
            f"exported {milliseconds(self._now)}",
            f"spec {hashlib.sha256(self._spec).hexdigest()} {to_base64(self._spec)}",
        )

    def record(self, entry: LogEntry) -> bytes:
        """One record's line. InvariantError for a record out of order."""
        if entry.index != self._count:
            raise InvariantError(f"record {entry.index} where {self._count} is expected", hint="the log's table was altered")
        statement = read_statement(peek_payload(entry.envelope), f"record {entry.index}")
        self._newest.see(entry.index, statement)
        self._count += 1
        return self._lines(f"record {entry.index} {entry.envelope.decode('ascii')}")

    def end(self, checkpoint: Checkpoint) -> bytes:
        """Serials, checkpoint, digest and signature. InvariantError when the checkpoint is not of these records."""
        if checkpoint.size != self._count:
            raise InvariantError(f"a checkpoint of {checkpoint.size} records, {self._count} were written")
        body = self._lines(*self._newest.lines(), f"checkpoint {to_base64(checkpoint.note.encode())}")
        digest = self._digest.hexdigest()
        signature = self._signer.sign(CONTEXT + digest.encode())
        return body + f"digest {digest}\nsignature {to_base64(signature)}\n".encode()

    def _lines(self, *lines: str) -> bytes:
        data = ("\n".join(lines) + "\n").encode("ascii")
        self._digest.update(data)
        return data
