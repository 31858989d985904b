"""The bundle: one canonical text with everything a third party needs, and a signed digest over every byte before it.

    metalwright bundle v1
    origin <origin>
    simulated true|false
    exported <seconds since 1970 UTC, three decimals>
    spec <base64 of the spec's JSON>
    record <index> <base64 of the envelope>        one line per record, index from 0
    checkpoint <base64 of the signed note>
    digest <sha256 hex over every byte up to and with the newline before this line>
    signature <base64 of Ed25519 over "metalwright bundle\\n" and the digest>

Lines end with one newline. There is one spelling of everything, and nothing that a reader may ignore.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from metalwright.evidence.errors import Refused
from metalwright.evidence.sequence import Signer
from metalwright.evidence.trust import Trust
from metalwright.model.evidence import Checkpoint, LogEntry
from metalwright.model.ids import Instant

FIRST_LINE = "metalwright bundle v1"
CONTEXT = b"metalwright bundle\n"
MAX_BUNDLE_BYTES = 1 << 30
MAX_LINE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleContent:
    """What a bundle says, before any of it is verified but the final signature."""

    origin: str
    simulated: bool
    exported: str
    spec: bytes
    envelopes: tuple[bytes, ...]
    note: str


def write_bundle(*, spec: bytes, entries: Sequence[LogEntry], checkpoint: Checkpoint, signer: Signer, now: Instant) -> bytes:
    """The whole log, up to the checkpoint, as one file."""
    lines = [
        FIRST_LINE,
        f"origin {signer.origin}",
        f"simulated {'true' if signer.simulated else 'false'}",
        f"exported {now:.3f}",
        f"spec {_encode(spec)}",
        *(f"record {entry.index} {_encode(entry.envelope)}" for entry in entries),
        f"checkpoint {_encode(checkpoint.note.encode())}",
    ]
    body = ("\n".join(lines) + "\n").encode()
    digest = hashlib.sha256(body).hexdigest()
    signature = signer.sign(CONTEXT + digest.encode())
    return body + f"digest {digest}\nsignature {_encode(signature)}\n".encode()


def read_bundle(data: bytes, trust: Trust) -> BundleContent:
    """The lines of a bundle whose digest and signature are right; Refused otherwise, naming the line where reading stopped.

    The records' own faults are looked for by `verify` even when the digest is wrong, so that the report can name the record.
    """
    lines = _lines(data)
    _check_seal(data, lines, trust)
    return read_lines(lines)


def read_lines(lines: Sequence[str]) -> BundleContent:
    """The content by shape alone."""
    if len(lines) < 8 or lines[0] != FIRST_LINE:
        raise Refused("bundle line 1", f"not {FIRST_LINE!r}")
    records = lines[5:-3]
    return BundleContent(
        origin=_value(lines, 1, "origin"),
        simulated=_flag(_value(lines, 2, "simulated")),
        exported=_value(lines, 3, "exported"),
        spec=_decode(_value(lines, 4, "spec"), 5),
        envelopes=tuple(_record(line, index) for index, line in enumerate(records)),
        note=_text(_decode(_value(lines, len(lines) - 3, "checkpoint"), len(lines) - 2)),
    )


def split(data: bytes) -> list[str]:
    """The lines; Refused for anything that is not ASCII text of lines, each ended by one newline."""
    return _lines(data)


def _lines(data: bytes) -> list[str]:
    if len(data) > MAX_BUNDLE_BYTES:
        raise Refused("bundle", f"larger than {MAX_BUNDLE_BYTES} bytes")
    if not data.endswith(b"\n"):
        raise Refused("bundle", "truncated: the last line has no end")
    try:
        lines = data[:-1].decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise Refused(f"bundle line {number}", "not ASCII") from error
    for number, line in enumerate(lines, 1):
        if "\r" in line or "\0" in line or len(line) > MAX_LINE_BYTES:
            raise Refused(f"bundle line {number}", "a character or a length that no bundle has")
    return lines


def check_seal(data: bytes, trust: Trust) -> None:
    """The last two lines: the digest of every byte before, signed by the trusted key."""
    _check_seal(data, _lines(data), trust)


def _check_seal(data: bytes, lines: Sequence[str], trust: Trust) -> None:
    if len(lines) < 3:
        raise Refused("bundle", "truncated")
    digest, signature = _value(lines, len(lines) - 2, "digest"), _value(lines, len(lines) - 1, "signature")
    tail = len(lines[-1]) + len(lines[-2]) + 2
    if hashlib.sha256(data[:-tail]).hexdigest() != digest:
        raise Refused(f"bundle line {len(lines) - 1}", "the digest does not fit the bytes before it: something was changed")
    try:
        Ed25519PublicKey.from_public_bytes(trust.public_key).verify(_decode(signature, len(lines)), CONTEXT + digest.encode())
    except InvalidSignature as error:
        raise Refused(f"bundle line {len(lines)}", "the signature of the bundle is wrong") from error


def _record(line: str, index: int) -> bytes:
    word, _, rest = line.partition(" ")
    number, _, value = rest.partition(" ")
    if word != "record" or number != str(index):
        raise Refused(f"bundle line {index + 6}", f"record {index} is expected here")
    return _decode(value, index + 6)


def _value(lines: Sequence[str], at: int, word: str) -> str:
    found, _, value = lines[at].partition(" ")
    if found != word or not value:
        raise Refused(f"bundle line {at + 1}", f"`{word}` is expected here")
    return value


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise Refused("bundle line 3", "`simulated` is true or false")
    return text == "true"


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode(text: str, line: int) -> bytes:
    """Base64 in its one spelling."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Refused(f"bundle line {line}", "not base64") from error
    if _encode(data) != text:
        raise Refused(f"bundle line {line}", "base64 in a second spelling")
    return data


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Refused("checkpoint", "not text") from error
