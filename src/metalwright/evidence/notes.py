"""C2SP signed notes (c2sp.org/signed-note): a text, a blank line, and a signature line per key.

Two types are read: 0x01, an Ed25519 signature of the text; 0x04, a witness's timestamped cosignature (c2sp.org/tlog-cosignature).
0x06 (ML-DSA-44) has its place in the same form and is not read yet.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from metalwright.evidence.canonical import from_base64, to_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey, public_key

ED25519, COSIGNATURE = 0x01, 0x04
MAX_NOTE_BYTES = 256 << 10
MAX_SIGNATURES = 64
_DASH = "\u2014"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteKey:
    """A key as notes name it; (name, id) is what a signature line says."""

    name: str
    type: int
    key: PublicKey

    @property
    def id(self) -> bytes:
        """SHA-256(name || 0x0A || type || public key), the first four bytes."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.key.raw).digest()[:4]

    def __str__(self) -> str:
        """`<name>+<id in hex>+<base64 of type and key>`: the verifier key of signed-note."""
        return f"{self.name}+{self.id.hex()}+{to_base64(bytes([self.type]) + self.key.raw)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """One good signature. `at_s`: POSIX seconds of a cosignature, None for a plain one."""

    by: NoteKey
    at_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note that at least one known key signed. `unknown` counts signature lines of keys that nobody named."""

    text: str
    signed: tuple[Signed, ...]
    unknown: int


def read_note_key(text: str, where: str) -> NoteKey:
    """`name+id+key` → the key; Refused when the id is not that of the key."""
    name, _, rest = text.partition("+")
    identity, _, encoded = rest.partition("+")
    material = from_base64(encoded, where)
    if not is_key_name(name) or not material or material[0] not in (ED25519, COSIGNATURE):
        raise Refused(where, "not the verifier key of an Ed25519 log or witness")
    found = NoteKey(name=name, type=material[0], key=public_key(material[1:], where))
    if found.id.hex() != identity:
        raise Refused(where, "the key id is not that of the key")
    return found


def is_key_name(name: str) -> bool:
    """Not empty, no spaces, no plus, nothing that does not print."""
    return bool(name) and len(name) <= 256 and name.isprintable() and not any(letter.isspace() or letter == "+" for letter in name)


def sign_note(text: str, key: NoteKey, sign: Callable[[bytes], bytes]) -> str:
    """The note with one plain signature. `text` ends with a newline."""
    return f"{text}\n{_line(key, sign(text.encode()))}"


def cosign_note(note: str, key: NoteKey, at_s: int, sign: Callable[[bytes], bytes]) -> str:
    """The note with one more line: a witness's statement that this was the largest consistent tree it knew at `at_s`."""
    text, _ = split_note(note, "checkpoint")
    return note + _line(key, struct.pack(">Q", at_s) + sign(_cosigned(text, at_s)))


def open_note(note: str, known: Sequence[NoteKey], where: str) -> Note:
    """The text and the good signatures. Refused when one of a known key is wrong, or none is of a known key."""
    text, lines = split_note(note, where)
    signed: list[Signed] = []
    unknown = 0
    for name, identity, signature in lines:
        keys = [key for key in known if (key.name, key.id) == (name, identity)]
        unknown += not keys
        signed += [_check(text, key, signature, where) for key in keys]
    if not signed:
        raise Refused(where, "not signed by any key of the trust file")
    return Note(text=text, signed=tuple(signed), unknown=unknown)


def split_note(note: str, where: str) -> tuple[str, list[tuple[str, bytes, bytes]]]:
    """(text, [(key name, key id, signature)]), nothing verified. Refused when it has not the form of a note."""
    if len(note) > MAX_NOTE_BYTES:
        raise Refused(where, f"larger than {MAX_NOTE_BYTES} characters")
    text, blank, lines = note.rpartition("\n\n")
    if not blank or not text or not lines.endswith("\n"):
        raise Refused(where, "not a signed note")
    if any(ord(letter) < 32 and letter != "\n" for letter in note):
        raise Refused(where, "a control character")
    found = list(_signature_lines(lines, where))
    if len(found) > MAX_SIGNATURES:
        raise Refused(where, f"more than {MAX_SIGNATURES} signatures")
    return text + "\n", found


def _signature_lines(lines: str, where: str) -> Iterator[tuple[str, bytes, bytes]]:
    for line in lines[:-1].split("\n"):
        parts = line.split(" ")
        if len(parts) != 3 or parts[0] != _DASH or not is_key_name(parts[1]):
            raise Refused(where, "a malformed signature line")
        data = from_base64(parts[2], where)
        if len(data) < 5:
            raise Refused(where, "a malformed signature line")
        yield parts[1], data[:4], data[4:]


def _check(text: str, key: NoteKey, signature: bytes, where: str) -> Signed:
    message, at_s = text.encode(), None
    if key.type == COSIGNATURE:
        if len(signature) != 72:
            raise Refused(where, f"the cosignature of {key.name} is malformed")
        (at_s,), signature = struct.unpack(">Q", signature[:8]), signature[8:]
        message = _cosigned(text, at_s)
    if not key.key.is_signed(signature, message):
        raise Refused(where, f"the signature of {key.name} is wrong")
    return Signed(by=key, at_s=at_s)


def _cosigned(text: str, at_s: int) -> bytes:
    return f"cosignature/v1\ntime {at_s}\n{text}".encode()


def _line(key: NoteKey, signature: bytes) -> str:
    return f"{_DASH} {key.name} {to_base64(key.id + signature)}\n"
