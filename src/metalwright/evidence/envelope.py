"""in-toto statements in DSSE envelopes (in-toto attestation framework v1; secure-systems-lab/dsse v1.0).

The envelope's JSON has one spelling: keys in this order, no blanks. Its exact bytes are the log's leaf.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from metalwright.evidence.errors import Refused
from metalwright.model.errors import InvariantError
from metalwright.model.evidence import PendingStatement

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MAX_ENVELOPE_BYTES = 16 << 20
MAX_DEPTH = 40
BRACKETS = re.compile(rb"[\[{\]}]")


def statement_bytes(pending: PendingStatement, *, simulated: bool) -> bytes:
    """The statement's JSON. `simulated` comes from the log's origin and is written over whatever a caller says."""
    predicate = {**pending.predicate, "simulated": simulated, "made_at": _seconds(pending.made_at)}
    _refuse_floats(predicate, pending.key)
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in pending.subjects],
        "predicateType": f"urn:metalwright:{pending.kind}:v1",
        "predicate": predicate,
    }
    return compact(statement)


def compact(value: Any) -> bytes:
    """JSON without blanks, keys as they come, UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def pre_authentication(payload: bytes) -> bytes:
    """DSSE v1 PAE: what is signed."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_envelope(payload: bytes, key_id: str, sign: Callable[[bytes], bytes]) -> bytes:
    """The envelope around a payload, signed once."""
    signature = {"keyid": key_id, "sig": base64.b64encode(sign(pre_authentication(payload))).decode()}
    return compact({"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD_TYPE, "signatures": [signature]})


def open_envelope(envelope: bytes, key_id: str, public_key: bytes, where: str) -> Mapping[str, Any]:
    """The statement in an envelope that this key signed, in its one spelling; Refused otherwise."""
    outer = _json(envelope, where)
    try:
        payload = base64.b64decode(outer["payload"], validate=True)
        (signature,) = outer["signatures"]
        signed = base64.b64decode(signature["sig"], validate=True)
        named = signature["keyid"]
        again = compact(
            {
                "payload": base64.b64encode(payload).decode(),
                "payloadType": PAYLOAD_TYPE,
                "signatures": [{"keyid": named, "sig": base64.b64encode(signed).decode()}],
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(where, "not a DSSE envelope") from error
    if again != envelope:
        raise Refused(where, "the envelope is in a second spelling")
    if named != key_id:
        raise Refused(where, "signed with a key that the trust file does not name")
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signed, pre_authentication(payload))
    except InvalidSignature as error:
        raise Refused(where, "the signature is wrong") from error
    return _statement(payload, where)


def _statement(payload: bytes, where: str) -> Mapping[str, Any]:
    found = _json(payload, where)
    if found.get("_type") != STATEMENT_TYPE or not isinstance(found.get("predicate"), dict) or not isinstance(found.get("subject"), list):
        raise Refused(where, "not an in-toto statement")
    return found


def _json(data: bytes, where: str) -> dict[str, Any]:
    """An object; no duplicate keys, bounded size and depth."""
    if len(data) > MAX_ENVELOPE_BYTES:
        raise Refused(where, "too large")
    if _depth(data) > MAX_DEPTH:
        raise Refused(where, "nested too deeply")
    try:
        found = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Refused(where, f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(where, "not a JSON object")
    return found


def _depth(data: bytes) -> int:
    """An upper bound that costs no recursion: brackets inside texts count too, which only refuses more."""
    deepest = now = 0
    for bracket in BRACKETS.finditer(data):
        now += 1 if bracket[0] in b"[{" else -1
        deepest = max(deepest, now)
    return deepest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _refuse_floats(value: Any, where: str) -> None:
    """Measurements are integers with a unit, or texts: a float has no one spelling."""
    if isinstance(value, float):
        raise InvariantError(f"a float in the predicate of {where}", hint="use an integer with a unit in its name")
    if isinstance(value, Mapping):
        for inner in value.values():
            _refuse_floats(inner, where)
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_floats(inner, where)


def _seconds(instant: float) -> str:
    """UTC, to the millisecond: `1764580000.123`."""
    return f"{instant:.3f}"
