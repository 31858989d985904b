"""The next version of a trust file: drafted, carried to the root keys' holders, signed, put together.

draft_next → payload ─ each holder: ssh-keygen -Y sign -f key -n metalwright-trust payload → payload.sig
assemble(old, payload, signatures) → trust.json
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey
from metalwright.evidence.roots import NAMESPACE, Root, SshRoot
from metalwright.evidence.sshsig import unarmor, verify_ssh_signature
from metalwright.evidence.statement import milliseconds
from metalwright.evidence.trust import LogKey, Trust, check_shape, read_next_trust, read_payload, trust_file, trust_payload
from metalwright.model.ids import Instant


def draft_next(old: Trust, now: Instant, *, new_log_key: LogKey | None = None, **changes: object) -> bytes:
    """The payload of the version after `old`. `changes`: fields of Trust (roots, threshold, witnesses, witness_threshold, authority,
    expires_at_ms). Refused when it would make no sense."""
    log_keys = (*old.log_keys, new_log_key) if new_log_key else old.log_keys
    new = replace(old, version=old.version + 1, made_at_ms=milliseconds(now), log_keys=log_keys, **changes)  # type: ignore[arg-type]
    check_shape(new)
    return trust_payload(new)


def assemble(
    old: Trust,
    payload: bytes,
    armored: Sequence[bytes],
    now: Instant,
    *,
    log_sign: tuple[PublicKey, Callable[[bytes], bytes]] | None = None,
) -> bytes:
    """The new file from the payload and the holders' signatures (`payload.sig`); `log_sign`: the site's own key, where it is a root.

    Refused when a signature is of no root of either version, or when they are not enough.
    """
    new = read_payload(payload)
    roots: tuple[Root, ...] = (*old.roots, *new.roots)
    signatures = dict(_signature(payload, each, roots) for each in armored)
    if log_sign and log_sign[0].key_id in {root.key_id for root in roots}:
        signatures[log_sign[0].key_id] = log_sign[1](payload)
    data = trust_file(new, signatures)
    read_next_trust(old, data, now)
    return data


def _signature(payload: bytes, armored: bytes, roots: Sequence[Root]) -> tuple[str, bytes]:
    found = verify_ssh_signature(payload, armored, NAMESPACE)
    key_id = hashlib.sha256(found.key.blob).hexdigest()
    if not any(isinstance(root, SshRoot) and root.key_id == key_id for root in roots):
        raise Refused("signature", f"by {found.key.fingerprint[:23]}, which is a root of neither version")
    return key_id, unarmor(armored, "signature")
