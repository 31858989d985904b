"""The log key in a file, with its memory of what it last signed. Implements `ports.LogSigner`.

The memory lies beside the key, outside the database: a database restored from an old backup would fork history, and the signer refuses.
It is written before the database commits. A crash in between leaves a memory that is ahead of the database; it names the statements of
that batch, so the next round makes the very same batch again (Ed25519 and the envelopes are deterministic) and history goes on.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from metalwright.evidence.trust import Trust, trust_bytes
from metalwright.model.errors import InputError
from metalwright.ports import LastSigned

KEY, MEMORY, TRUST = "log.key", "log.last-signed.json", "trust.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSigner:
    """One log's key. `folder` is the site's state folder."""

    folder: Path
    origin: str
    simulated: bool
    key: Ed25519PrivateKey

    @property
    def public_key(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    @property
    def key_id(self) -> str:
        return hashlib.sha256(self.public_key).hexdigest()

    def sign(self, payload: bytes) -> bytes:
        return self.key.sign(payload)

    def last_signed(self) -> LastSigned:
        """What was signed last; the empty log for a new key."""
        file = self.folder / MEMORY
        try:
            found = json.loads(file.read_text())
            return LastSigned(size=found["size"], root=found["root"], base=found["base"], keys=tuple(found["keys"]))
        except (ValueError, KeyError, TypeError, OSError) as error:
            hint = "restore it from a backup; without it a fork of the log could not be told from the log"
            raise InputError(f"{file} cannot be read", hint=hint) from error

    def remember(self, signed: LastSigned) -> None:
        """On the disk before this returns."""
        text = json.dumps({"size": signed.size, "root": signed.root, "base": signed.base, "keys": list(signed.keys)})
        write_whole(self.folder / MEMORY, text.encode())

    def trust(self) -> Trust:
        return Trust(origin=self.origin, key_id=self.key_id, public_key=self.public_key, simulated=self.simulated)


def open_log(folder: Path, site: str, *, simulated: bool) -> FileSigner:
    """The log of a state folder, made on first use. InputError when the spec now says otherwise than the log's origin."""
    origin_file = folder / "log.json"
    if not origin_file.exists():
        _create(folder, origin_file, site, simulated=simulated)
    try:
        found = json.loads(origin_file.read_text())
        key = Ed25519PrivateKey.from_private_bytes((folder / KEY).read_bytes())
        signer = FileSigner(folder=folder, origin=found["origin"], simulated=found["simulated"], key=key)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"the log key in {folder} cannot be read", hint="restore the state folder from a backup") from error
    if signer.simulated is not simulated:
        hint = "evidence of a simulated site is never real evidence: use another site folder"
        raise InputError("site.simulated was changed after the log was made", hint=hint)
    return signer


def _create(folder: Path, origin_file: Path, site: str, *, simulated: bool) -> None:
    """Key, empty memory and trust file first, the origin last: half of it is made again."""
    key = Ed25519PrivateKey.generate()
    write_whole(folder / KEY, key.private_bytes_raw())
    origin = f"metalwright.log/{site}/{os.urandom(4).hex()}"
    signer = FileSigner(folder=folder, origin=origin, simulated=simulated, key=key)
    signer.remember(LastSigned(size=0, root="", base=0, keys=()))
    write_whole(folder / TRUST, trust_bytes(signer.trust()), mode=0o644)
    write_whole(origin_file, json.dumps({"origin": origin, "simulated": simulated, "key_id": signer.key_id}).encode())


def write_whole(file: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file in one step, on the disk before this returns."""
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    os.replace(scratch, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
