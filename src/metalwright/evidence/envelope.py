"""DSSE envelopes (secure-systems-lab/dsse v1.0.2) of in-toto statements, signed once with Ed25519.

The signature covers the payload's exact bytes, so nothing needs canonical JSON. The envelope's own JSON has one spelling (keys in this
order, no blanks): its exact bytes are the log's leaf.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable

from metalwright.evidence.canonical import compact, from_base64, read_json, to_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_HEAD = b'{"payload":"'


def pre_authentication(payload: bytes) -> bytes:
    """DSSE v1 PAE: what is signed."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_envelope(payload: bytes, key_id: str, sign: Callable[[bytes], bytes]) -> bytes:
    """The envelope around a payload."""
    return _spell(payload, key_id, sign(pre_authentication(payload)))


def open_envelope(envelope: bytes, key: PublicKey, where: str) -> bytes:
    """The payload of an envelope that this key signed; Refused for any other envelope and any other spelling of it."""
    outer = read_json(envelope, where)
    try:
        (signature,) = outer["signatures"]
        payload_text, named, signed_text = str(outer["payload"]), str(signature["keyid"]), str(signature["sig"])
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(where, "not a DSSE envelope with one signature") from error
    payload, signed = from_base64(payload_text, where), from_base64(signed_text, where)
    if _spell(payload, named, signed) != envelope:
        raise Refused(where, "the envelope is in a second spelling, or holds something that no envelope of this log holds")
    if named != key.key_id:
        raise Refused(where, f"signed with key {named[:16]!r}, the key of the log here is {key.key_id[:16]}")
    if not key.is_signed(signed, pre_authentication(payload)):
        raise Refused(where, "the signature is wrong: the record was changed after it was signed")
    return payload


def peek_payload(envelope: bytes) -> bytes:
    """The payload of an envelope that may be false; empty when there is none. Only to say what a refused record claims to be."""
    try:
        start = envelope.index(_HEAD) + len(_HEAD)
        return b64decode(envelope[start : envelope.index(b'"', start)])
    except (ValueError, binascii.Error):
        return b""


def _spell(payload: bytes, key_id: str, signature: bytes) -> bytes:
    signatures = [{"keyid": key_id, "sig": to_base64(signature)}]
    return compact({"payload": to_base64(payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures})
