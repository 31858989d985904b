"""C2SP signed notes and log checkpoints (c2sp.org/signed-note, c2sp.org/tlog-checkpoint), Ed25519."""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from metalwright.evidence.errors import Refused

ED25519 = b"\x01"
MAX_NOTE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointText:
    """The three lines of a checkpoint: who, how many, which tree."""

    origin: str
    size: int
    root: bytes


def key_hash(name: str, public_key: bytes) -> bytes:
    """The first four bytes of SHA-256(name || 0x0A || type || key): the key's hint in a signature line."""
    return hashlib.sha256(name.encode() + b"\n" + ED25519 + public_key).digest()[:4]


def signed_note(text: str, name: str, public_key: bytes, sign: Callable[[bytes], bytes]) -> str:
    """The text, a blank line, and one signature line. `text` ends with a newline."""
    signature = base64.b64encode(key_hash(name, public_key) + sign(text.encode())).decode()
    return f"{text}\n\u2014 {name} {signature}\n"


def open_note(note: str, name: str, public_key: bytes) -> str:
    """The text of a note that this key signed. Signatures of unknown keys are ignored (signed-note, "Verifying")."""
    if len(note) > MAX_NOTE_BYTES:
        raise Refused("checkpoint", "too long")
    text, blank, signatures = note.rpartition("\n\n")
    if not blank or not signatures.endswith("\n"):
        raise Refused("checkpoint", "not a signed note")
    text += "\n"
    for line in signatures.splitlines():
        found = _signature(line, name, public_key)
        if found is None:
            continue
        try:
            Ed25519PublicKey.from_public_bytes(public_key).verify(found, text.encode())
        except InvalidSignature as error:
            raise Refused("checkpoint", f"the signature of {name} is wrong") from error
        return text
    raise Refused("checkpoint", f"not signed by the key of {name} in the trust file")


def _signature(line: str, name: str, public_key: bytes) -> bytes | None:
    """The signature in the line if it is this key's; Refused for a line that is none."""
    parts = line.split(" ")
    if len(parts) != 3 or parts[0] != "\u2014":
        raise Refused("checkpoint", "a malformed signature line")
    try:
        data = base64.b64decode(parts[2], validate=True)
    except ValueError as error:
        raise Refused("checkpoint", "a malformed signature") from error
    if base64.b64encode(data).decode() != parts[2]:
        raise Refused("checkpoint", "a signature in a second spelling")
    return data[4:] if parts[1] == name and data[:4] == key_hash(name, public_key) else None


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """The text that is signed: origin, size in decimal, root in base64, a line each."""
    return f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"


def read_checkpoint(text: str) -> CheckpointText:
    """The lines of a checkpoint, in exactly the spelling that `checkpoint_text` gives."""
    lines = text.split("\n")
    if len(lines) != 4 or not lines[1].isdigit():
        raise Refused("checkpoint", "malformed")
    try:
        found = CheckpointText(origin=lines[0], size=int(lines[1]), root=base64.b64decode(lines[2], validate=True))
    except ValueError as error:
        raise Refused("checkpoint", "malformed") from error
    if checkpoint_text(found.origin, found.size, found.root) != text or len(found.root) != 32:
        raise Refused("checkpoint", "in a second spelling")
    return found
