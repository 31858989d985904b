"""The trust file: which log, whose keys, simulated or not. Everything else is checked against it; it is handed over by another way.

Root semantics of TUF (theupdateframework.github.io/specification, section 5.3): numbered versions, each signed by `threshold` of its
own root keys, and a new version also by `threshold` of the one before. A new site has one root, its log key; roots held offline by
people come with the next version. Log keys are in force from a record's index on, so a retired key can sign nothing new.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from metalwright.evidence.canonical import from_base64, read_json, sorted_json, to_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey, public_key
from metalwright.evidence.notes import COSIGNATURE, ED25519, NoteKey, is_key_name, read_note_key
from metalwright.evidence.roots import Root, read_root, root_words
from metalwright.model.ids import Instant

MAX_TRUST_BYTES = 1 << 20
CONTEXT = b"metalwright trust v1\n"
WHERE = "trust file"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogKey:
    """A key of the log, in force for records from `from_index` on until the next one's."""

    key: PublicKey
    from_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """One version of a trust file, its signatures verified by `read_trust`. `witness_threshold`: cosignatures a checkpoint needs."""

    version: int
    origin: str
    simulated: bool
    made_at_ms: int
    roots: tuple[Root, ...]
    threshold: int
    log_keys: tuple[LogKey, ...]
    witnesses: tuple[NoteKey, ...] = ()
    witness_threshold: int = 0
    expires_at_ms: int | None = None
    authority: str | None = None
    """sha256 hex of who may sign in which role (`papers.authority_digest`); None: whatever the spec says."""

    def log_key(self, index: int) -> PublicKey:
        """The key in force for the record at `index`."""
        return [entry.key for entry in self.log_keys if entry.from_index <= index][-1]

    def note_keys(self, size: int) -> tuple[NoteKey, ...]:
        """Who may have signed the checkpoint of a log of this size: the log first, then the witnesses."""
        log = NoteKey(name=self.origin, type=ED25519, key=self.log_key(max(0, size - 1)))
        return (log, *self.witnesses)


def trust_payload(trust: Trust) -> bytes:
    """What root keys sign."""
    return CONTEXT + sorted_json(_signed(trust))


def trust_file(trust: Trust, signatures: Mapping[str, bytes]) -> bytes:
    """The file. `signatures`: key id → signature over `trust_payload`."""
    listed = [{"keyid": key_id, "sig": to_base64(signatures[key_id])} for key_id in sorted(signatures)]
    return _spell({"signed": _signed(trust), "signatures": listed})


def read_payload(payload: bytes) -> Trust:
    """What a payload that was handed around for signing says; Refused when it is none, or makes no sense."""
    if not payload.startswith(CONTEXT):
        raise Refused("payload", "not the text of a trust file to sign")
    trust, _ = _parse({"signed": read_json(payload[len(CONTEXT) :], "payload", limit=MAX_TRUST_BYTES), "signatures": []})
    if trust_payload(trust) != payload:
        raise Refused("payload", "altered, or of another version of this program")
    check_shape(trust)
    return trust


def read_trust(data: bytes, now: Instant) -> Trust:
    """A trust file that enough of its own roots signed, still in force, in its one spelling; Refused otherwise."""
    found = read_json(data, WHERE, limit=MAX_TRUST_BYTES)
    if _spell(found) != data:
        raise Refused(WHERE, "altered by hand, or by a program that writes JSON in another way")
    trust, signatures = _parse(found)
    if _signed(trust) != found["signed"] or set(found) != {"signed", "signatures"}:
        raise Refused(WHERE, "it holds something that this version does not know")
    check_shape(trust)
    _check_threshold(trust, signatures, trust.roots, trust.threshold, "its own root keys")
    if trust.expires_at_ms is not None and now * 1000 > trust.expires_at_ms:
        raise Refused(WHERE, f"version {trust.version} has expired: ask for the next version")
    return trust


def read_next_trust(old: Trust, data: bytes, now: Instant) -> Trust:
    """The version after `old`, signed by enough of the roots of both; Refused for any other file."""
    new = read_trust(data, now)
    if new.version != old.version + 1:
        raise Refused(WHERE, f"version {new.version} does not follow version {old.version}")
    if (new.origin, new.simulated) != (old.origin, old.simulated):
        raise Refused(WHERE, "another log: origin and `simulated` never change")
    if new.log_keys[: len(old.log_keys)] != old.log_keys:
        raise Refused(WHERE, "it changes which key signed the past")
    _, signatures = _parse(read_json(data, WHERE, limit=MAX_TRUST_BYTES))
    _check_threshold(new, signatures, old.roots, old.threshold, f"the root keys of version {old.version}")
    return new


def _check_threshold(trust: Trust, signatures: Mapping[str, bytes], roots: Sequence[Root], threshold: int, whose: str) -> None:
    payload = trust_payload(trust)
    good = sum(root.key_id in signatures and root.is_signed(signatures[root.key_id], payload) for root in roots)
    if good < threshold:
        raise Refused(WHERE, f"signed by {good} of {whose}, {threshold} are needed")


def check_shape(trust: Trust) -> None:
    """Refused for thresholds that nobody or anybody reaches, for gaps between log keys, for a witness that is the log itself."""
    starts = [entry.from_index for entry in trust.log_keys]
    if not starts or starts[0] != 0 or any(later <= earlier for earlier, later in pairwise(starts)):
        raise Refused(WHERE, "its log keys do not cover the log from record 0, each from a later record on")
    if not 1 <= trust.threshold <= len(trust.roots) or len({root.key_id for root in trust.roots}) != len(trust.roots):
        raise Refused(WHERE, "its threshold cannot be reached by its roots")
    names = {witness.key.raw for witness in trust.witnesses} | {entry.key.raw for entry in trust.log_keys}
    if len(names) != len(trust.witnesses) + len({entry.key.raw for entry in trust.log_keys}):
        raise Refused(WHERE, "a witness twice, or a witness with a key of the log")
    if any(witness.type != COSIGNATURE for witness in trust.witnesses):
        raise Refused(WHERE, "a witness whose key is not one for cosignatures")
    if not 0 <= trust.witness_threshold <= len(trust.witnesses) or trust.version < 1 or not is_key_name(trust.origin):
        raise Refused(WHERE, "its numbers or its origin make no sense")


def _signed(trust: Trust) -> dict[str, Any]:
    return {
        "type": "metalwright-trust",
        "format": 1,
        "version": trust.version,
        "origin": trust.origin,
        "simulated": trust.simulated,
        "made_at_ms": trust.made_at_ms,
        "expires_at_ms": trust.expires_at_ms,
        "roots": [root_words(root) for root in trust.roots],
        "threshold": trust.threshold,
        "log_keys": [
            {"keyid": entry.key.key_id, "keytype": "ed25519", "public": to_base64(entry.key.raw), "from_index": entry.from_index}
            for entry in trust.log_keys
        ],
        "witnesses": [str(witness) for witness in trust.witnesses],
        "witness_threshold": trust.witness_threshold,
        "authority": trust.authority,
    }


def _parse(found: Mapping[str, Any]) -> tuple[Trust, dict[str, bytes]]:
    """Types are right afterwards; whether nothing was left over is seen by writing it again."""
    try:
        signed = found["signed"]
        if signed["type"] != "metalwright-trust" or signed["format"] != 1:
            raise Refused(WHERE, "not a metalwright trust file of a version that this program reads")
        trust = Trust(
            version=_whole(signed["version"]),
            origin=str(signed["origin"]),
            simulated=_flag(signed["simulated"]),
            made_at_ms=_whole(signed["made_at_ms"]),
            expires_at_ms=None if signed["expires_at_ms"] is None else _whole(signed["expires_at_ms"]),
            roots=tuple(read_root(root) for root in signed["roots"]),
            threshold=_whole(signed["threshold"]),
            log_keys=tuple(LogKey(key=_key(entry), from_index=_whole(entry["from_index"])) for entry in signed["log_keys"]),
            witnesses=tuple(read_note_key(str(witness), WHERE) for witness in signed["witnesses"]),
            witness_threshold=_whole(signed["witness_threshold"]),
            authority=None if signed["authority"] is None else str(signed["authority"]),
        )
        signatures = {str(entry["keyid"]): from_base64(str(entry["sig"]), WHERE) for entry in found["signatures"]}
        if [str(entry["keyid"]) for entry in found["signatures"]] != sorted(signatures):
            raise Refused(WHERE, "its signatures are not sorted by key")
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(WHERE, "not a metalwright trust file") from error
    return trust, signatures


def _key(entry: Mapping[str, Any]) -> PublicKey:
    return public_key(from_base64(str(entry["public"]), WHERE), WHERE)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _spell(found: Mapping[str, Any]) -> bytes:
    return (json.dumps(found, indent=2, sort_keys=True) + "\n").encode()
