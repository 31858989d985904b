"""The next version of a site's trust file, and with it the next log key: drafted, signed by the roots, installed in one step.

    draft    makes the new key (`log.key.next`) and the payload that the roots sign
    install  puts the signed file together and makes both valid: trust.json.next is the decision, the rest is carried on after a crash

The new key is in force from the record that comes next. A log that grew between draft and install must be drafted again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metalwright.drivers.signing.file_signer import TRUST, finish_rotation, locked, read_log
from metalwright.drivers.signing.log_keys import KEY, KEY_PLACE, make_key, open_key
from metalwright.drivers.signing.whole_file import write_whole
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey
from metalwright.evidence.trust import LogKey, read_payload
from metalwright.evidence.trust_changes import assemble, draft_next
from metalwright.model.errors import InputError
from metalwright.model.ids import Instant

ROOTS_SIGN = "each root key's holder: ssh-keygen -Y sign -f KEY -n metalwright-trust PAYLOAD"


def draft(folder: Path, now: Instant, *, new_key: bool = False, key_place: bytes | None = None, **changes: Any) -> bytes:
    """The payload to sign. `new_key`: make a new log key; `key_place`: the new key is where this `log.key.json` says.

    `changes`: see `trust_changes.draft_next`. InputError when the result would make no sense.
    """
    with locked(folder, waits=True):
        signer = read_log(folder)
        _forget_next(folder)
        if new_key or key_place is not None:
            if signer.last_signed().after.size <= signer.trust.log_keys[-1].from_index:
                raise InputError("the present log key has signed no record yet", hint="rotate it after the first record")
            if key_place is not None:
                write_whole(folder / f"{KEY_PLACE}.next", key_place)
            public = open_key(folder, ".next") if key_place is not None else make_key(folder, f"{KEY}.next")
            changes["new_log_key"] = LogKey(key=PublicKey(public.public_key), from_index=signer.last_signed().after.size)
        try:
            return draft_next(signer.trust, now, **changes)
        except Refused as refused:
            raise InputError(f"no such trust file can be: {refused.why}", hint="metalwright evidence trust show") from refused


def install(folder: Path, payload: bytes, armored: Sequence[bytes], now: Instant) -> bytes:
    """The new trust file, in force. InputError when signatures are missing, or the log grew since the draft."""
    with locked(folder, waits=True):
        signer = read_log(folder)
        try:
            wanted = read_payload(payload)
            data = assemble(signer.trust, payload, armored, now, log_sign=(PublicKey(signer.public_key), signer.sign))
        except Refused as refused:
            raise InputError(str(refused), hint=ROOTS_SIGN) from refused
        if wanted.log_keys != signer.trust.log_keys:
            _check_next_key(folder, wanted.log_keys[-1], signer.last_signed().after.size)
        else:
            _forget_next(folder)
        write_whole(folder / f"{TRUST}.next", data, mode=0o644)
        finish_rotation(folder)
        return data


def _check_next_key(folder: Path, wanted: LogKey, size: int) -> None:
    if wanted.from_index != size:
        hint = "pause the site, then draft, sign and install again"
        raise InputError(f"the log has {size} records, the draft was made at {wanted.from_index}", hint=hint)
    if open_key(folder, ".next").public_key != wanted.key.raw:
        raise InputError("the new log key in the state folder is not the one in the draft", hint="draft again")


def _forget_next(folder: Path) -> None:
    for name in (KEY, KEY_PLACE):
        (folder / f"{name}.next").unlink(missing_ok=True)
