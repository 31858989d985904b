"""The log's signer: a key (`log_keys`), and its memory of what it last signed. Implements `ports.LogSigner`.

In the site's state folder, none of it in the database:

    log.key       the raw Ed25519 key, 0600; or log.key.json: where the key is
    log.memory    what it signed last (`evidence.memory`): a restored database cannot fork history, because the key refuses
    trust.json    the public side (`evidence.trust`): origin, keys, simulated or not; what a bundle is verified against

The memory is written before the database commits and changed only under a lock on the folder, and only by a batch that goes on from
exactly what it holds. So one key never signs two trees of one size, even when a frozen sequencer wakes up beside its successor.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metalwright.drivers.signing.log_keys import PrivateKey, has_key, make_key, open_key
from metalwright.drivers.signing.whole_file import write_whole
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey
from metalwright.evidence.memory import empty_batch, memory_bytes, read_memory
from metalwright.evidence.sequence import Batch
from metalwright.evidence.statement import milliseconds
from metalwright.evidence.trust import LogKey, Trust, read_trust, trust_file, trust_payload
from metalwright.model.errors import InputError
from metalwright.model.ids import Instant

MEMORY, TRUST, LOCK = "log.memory", "trust.json", "log.lock"
RESTORE = "put it back from a backup of the state folder; without it a fork of the log could not be told from the log"


class FileSigner:
    """One log's key. `folder` is the site's state folder."""

    def __init__(self, folder: Path, trust_data: bytes, key: PrivateKey) -> None:
        self.folder, self._trust_data, self._key = folder, trust_data, key
        self.trust: Trust = read_trust(trust_data, now=0.0)  # an expired file stops verifiers, not records
        self.public_key = key.public_key
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
            raise InputError(f"{file} cannot be read: {error}", hint=RESTORE) from error

    def remember(self, batch: Batch) -> bool:
        """Durable before it returns True. False, and nothing written, when another batch was, or is being, signed meanwhile."""
        try:
            with locked(self.folder):
                if (self.folder / TRUST).read_bytes() != self._trust_data:
                    raise InputError("the log key was rotated while this process ran", hint="start it again")
                last = self.last_signed()
                if (batch.before.size, batch.before.root) != (last.after.size, last.after.root):
                    return False
                write_whole(self.folder / MEMORY, memory_bytes(batch))
                return True
        except BlockingIOError:
            return False


def open_log(folder: Path, site: str, *, simulated: bool, now: Instant) -> FileSigner:
    """The log of a state folder, made on first use. InputError when the spec now says otherwise than the log's origin."""
    with locked(folder, waits=True):  # two workers that start at once must not make two keys
        if not (folder / TRUST).exists():
            create_log(folder, f"metalwright.log/{site}/{os.urandom(4).hex()}", simulated=simulated, now=now)
        signer = read_log(folder)
    if signer.simulated is not simulated:
        hint = "evidence of a simulated site is never real evidence: use another site folder"
        raise InputError("site.simulated was changed after the log was made", hint=hint)
    return signer


def create_log(folder: Path, origin: str, *, simulated: bool, now: Instant) -> FileSigner:
    """Key and memory first, the trust file last: after a crash in between, it is all made again, because nothing was signed yet.

    A key that stands in `log.key.json` already (an agent's, a module's) is used.
    """
    if has_key(folder) and _has_signed(folder):
        raise InputError(f"{folder / TRUST} is missing, and its log has records", hint=RESTORE)
    key = open_key(folder) if has_key(folder) else make_key(folder)
    public = PublicKey(key.public_key)
    trust = Trust(
        version=1,
        origin=origin,
        simulated=simulated,
        made_at_ms=milliseconds(now),
        roots=(public,),
        threshold=1,
        log_keys=(LogKey(key=public, from_index=0),),
    )
    data = trust_file(trust, {public.key_id: key.sign(trust_payload(trust))})
    signer = FileSigner(folder, data, key)
    write_whole(folder / MEMORY, memory_bytes(empty_batch(signer)))
    write_whole(folder / TRUST, data, mode=0o644)
    return signer


def read_log(folder: Path) -> FileSigner:
    """The log that is there; a rotation that a crash interrupted is carried on. InputError when key and trust file are not of one log."""
    finish_rotation(folder)
    key = open_key(folder)
    try:
        signer = FileSigner(folder, (folder / TRUST).read_bytes(), key)
    except (OSError, ValueError, Refused) as error:
        raise InputError(f"the log key in {folder} cannot be used: {error}", hint="put the state folder back from a backup") from error
    if signer.public_key != signer.trust.log_keys[-1].key.raw:
        raise InputError(f"the log key in {folder} is not the key that {TRUST} names", hint="put the state folder back from a backup")
    return signer


def finish_rotation(folder: Path) -> None:
    """A rotation that was decided is carried on: the new trust file stands there, the new key may not yet (`rotation.install`)."""
    decided = folder / f"{TRUST}.next"
    if decided.exists():
        for name in ("log.key", "log.key.json"):
            if (folder / f"{name}.next").exists():
                for old in ("log.key", "log.key.json"):
                    if (folder / old).exists():
                        os.replace(folder / old, folder / f"{old}.retired")
                os.replace(folder / f"{name}.next", folder / name)
        os.replace(decided, folder / TRUST)


def _has_signed(folder: Path) -> bool:
    """Whether the memory holds records, or cannot tell."""
    try:
        return read_memory((folder / MEMORY).read_bytes()).after.size > 0
    except FileNotFoundError:
        return False
    except (OSError, ValueError, Refused):
        return True


@contextmanager
def locked(folder: Path, *, waits: bool = False) -> Iterator[None]:
    """One process at a time. The kernel frees a killed holder's lock; BlockingIOError, unless `waits`: a frozen holder may never wake."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
