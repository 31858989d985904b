"""The log key in a file, with its memory of what it last signed. Implements `ports.LogSigner`.

Three files in the site's state folder, none in the database:

    log.key       the raw Ed25519 key, 0600
    log.memory    what it signed last (`evidence.memory`): a restored database cannot fork history, because the key refuses
    trust.json    the public side (`evidence.trust`): origin, key, simulated or not; what a bundle is verified against

The memory is written before the database commits and changed only under a lock on the folder, and only by a batch that goes on from
exactly what it holds. So one key never signs two trees of one size, even when a frozen sequencer wakes up beside its successor.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from metalwright.drivers.signing.whole_file import write_whole
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey
from metalwright.evidence.memory import empty_batch, memory_bytes, read_memory
from metalwright.evidence.sequence import Batch
from metalwright.evidence.statement import milliseconds
from metalwright.evidence.trust import LogKey, Trust, read_trust, trust_file, trust_payload
from metalwright.model.errors import InputError
from metalwright.model.ids import Instant

KEY, MEMORY, TRUST, LOCK = "log.key", "log.memory", "trust.json", "log.lock"
_RESTORE = "put it back from a backup of the state folder; without it a fork of the log could not be told from the log"


class FileSigner:
    """One log's key. `folder` is the site's state folder."""

    def __init__(self, folder: Path, trust: Trust, key: Ed25519PrivateKey) -> None:
        self.folder, self.trust, self._key = folder, trust, key
        self.public_key = key.public_key().public_bytes_raw()
        self.key_id = PublicKey(self.public_key).key_id
        self._read: tuple[object, Batch] | None = None

    @property
    def origin(self) -> str:
        return self.trust.origin

    @property
    def simulated(self) -> bool:
        return self.trust.simulated

    def sign(self, payload: bytes) -> bytes:
        return self._key.sign(payload)

    def last_signed(self) -> Batch:
        """The newest batch this key signed. InputError when the memory is gone or torn: then it must sign nothing."""
        file = self.folder / MEMORY
        try:
            seen = file.stat()
            version = (seen.st_ino, seen.st_mtime_ns, seen.st_size)
            if self._read is None or self._read[0] != version:
                self._read = (version, read_memory(file.read_bytes()))
            return self._read[1]
        except (OSError, ValueError, Refused) as error:
            raise InputError(f"{file} cannot be read: {error}", hint=_RESTORE) from error

    def remember(self, batch: Batch) -> bool:
        """Durable before it returns True. False, and nothing written, when another batch was, or is being, signed meanwhile."""
        try:
            with _locked(self.folder):
                last = self.last_signed()
                if (batch.before.size, batch.before.root) != (last.after.size, last.after.root):
                    return False
                write_whole(self.folder / MEMORY, memory_bytes(batch))
                return True
        except BlockingIOError:
            return False


def open_log(folder: Path, site: str, *, simulated: bool, now: Instant) -> FileSigner:
    """The log of a state folder, made on first use. InputError when the spec now says otherwise than the log's origin."""
    with _locked(folder, waits=True):  # two workers that start at once must not make two keys
        if not (folder / TRUST).exists():
            create_log(folder, f"metalwright.log/{site}/{os.urandom(4).hex()}", simulated=simulated, now=now)
        signer = _read_log(folder)
    if signer.simulated is not simulated:
        hint = "evidence of a simulated site is never real evidence: use another site folder"
        raise InputError("site.simulated was changed after the log was made", hint=hint)
    return signer


def create_log(folder: Path, origin: str, *, simulated: bool, now: Instant) -> FileSigner:
    """Key and memory first, the trust file last: after a crash in between, it is all made again, because nothing was signed yet."""
    if (folder / KEY).exists() and _has_signed(folder):
        raise InputError(f"{folder / TRUST} is missing, and its log has records", hint=_RESTORE)
    key = Ed25519PrivateKey.generate()
    public = PublicKey(key.public_key().public_bytes_raw())
    trust = Trust(
        version=1,
        origin=origin,
        simulated=simulated,
        made_at_ms=milliseconds(now),
        roots=(public,),
        threshold=1,
        log_keys=(LogKey(key=public, from_index=0),),
    )
    signer = FileSigner(folder, trust, key)
    write_whole(folder / KEY, key.private_bytes_raw())
    write_whole(folder / MEMORY, memory_bytes(empty_batch(signer)))
    write_whole(folder / TRUST, trust_file(trust, {public.key_id: key.sign(trust_payload(trust))}), mode=0o644)
    return signer


def _read_log(folder: Path) -> FileSigner:
    try:
        if (folder / KEY).stat().st_mode & 0o077:
            raise InputError(f"{folder / KEY} can be read by others", hint=f"chmod 600 {folder / KEY}, and ask who may have read it")
        trust = read_trust((folder / TRUST).read_bytes(), now=0.0)  # an expired file stops verifiers, not records
        key = Ed25519PrivateKey.from_private_bytes((folder / KEY).read_bytes())
        signer = FileSigner(folder, trust, key)
    except (OSError, ValueError, Refused) as error:
        raise InputError(f"the log key in {folder} cannot be used: {error}", hint="put the state folder back from a backup") from error
    if signer.public_key != trust.log_keys[-1].key.raw:
        raise InputError(f"{folder / KEY} is not the key that {folder / TRUST} names", hint="put the state folder back from a backup")
    return signer


def _has_signed(folder: Path) -> bool:
    """Whether the memory holds records, or cannot tell."""
    try:
        return read_memory((folder / MEMORY).read_bytes()).after.size > 0
    except FileNotFoundError:
        return False
    except (OSError, ValueError, Refused):
        return True


@contextmanager
def _locked(folder: Path, *, waits: bool = False) -> Iterator[None]:
    """One process at a time. The kernel frees a killed holder's lock; BlockingIOError, unless `waits`: a frozen holder may never wake."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
