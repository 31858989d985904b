"""DSSE envelopes (secure-systems-lab/dsse v1.0.2) of in-toto statements, signed once with Ed25519.

The signature covers the payload's exact bytes, so nothing needs canonical JSON. The envelope's own JSON has one spelling (keys in this
order, no blanks): its exact bytes are the log's leaf.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable

from metalwright.evidence.canonical import MAX_JSON_BYTES, compact, from_base64, to_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_ENVELOPE = re.compile(
    rb'\{"payload":"(?P<payload>[A-Za-z0-9+/=]*)","payloadType":"application/vnd\.in-toto\+json",'
    rb'"signatures":\[\{"keyid":"(?P<keyid>[0-9a-f]{64})","sig":"(?P<sig>[A-Za-z0-9+/=]*)"\}\]\}'
)
"""The one spelling: what `_spell` writes. With base64 in its one spelling too, no byte of an envelope is free."""
_CLAIM = re.compile(rb'\{"payload":"([^"]*)"')


def pre_authentication(payload: bytes) -> bytes:
    """DSSE v1 PAE: what is signed."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_envelope(payload: bytes, key_id: str, sign: Callable[[bytes], bytes]) -> bytes:
    """The envelope around a payload."""
    return _spell(payload, key_id, sign(pre_authentication(payload)))


def open_envelope(envelope: bytes, key: PublicKey, where: str) -> bytes:
    """The payload of an envelope that this key signed; Refused for any other envelope and any other spelling of it."""
    if len(envelope) > MAX_JSON_BYTES:
        raise Refused(where, f"larger than {MAX_JSON_BYTES} bytes")
    found = _ENVELOPE.fullmatch(envelope)
    if found is None:
        raise Refused(where, "not a DSSE envelope in the one spelling of this log")
    payload, signed = (from_base64(found[part].decode(), where) for part in ("payload", "sig"))
    named = found["keyid"].decode()
    if named != key.key_id:
        raise Refused(where, f"signed with key {named[:16]}, the key of the log here is {key.key_id[:16]}")
    if not key.is_signed(signed, pre_authentication(payload)):
        raise Refused(where, "the signature is wrong: the record was changed after it was signed")
    return payload


def peek_payload(envelope: bytes) -> bytes:
    """The payload of an envelope that may be false; empty when there is none. Only to say what a refused record claims to be."""
    found = _CLAIM.match(envelope)
    try:
        return b64decode(found[1]) if found else b""
    except binascii.Error:
        return b""


def _spell(payload: bytes, key_id: str, signature: bytes) -> bytes:
    signatures = [{"keyid": key_id, "sig": to_base64(signature)}]
    return compact({"payload": to_base64(payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures})
