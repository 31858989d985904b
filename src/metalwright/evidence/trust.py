"""The trust file: which log, which key, simulated or not. Everything else is checked against it.

`roots` and `threshold` are the place of m-of-n root keys (TUF root semantics); a file without roots is trusted as handed over.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any

from metalwright.evidence.errors import Refused

MAX_TRUST_BYTES = 1 << 20
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """`key_id`: sha256 hex of the raw public key; `public_key`: 32 bytes of Ed25519."""

    origin: str
    key_id: str
    public_key: bytes
    simulated: bool


def trust_bytes(trust: Trust) -> bytes:
    """The file."""
    found = {
        "metalwright_trust": VERSION,
        "origin": trust.origin,
        "simulated": trust.simulated,
        "keys": [{"keyid": trust.key_id, "keytype": "ed25519", "public": base64.b64encode(trust.public_key).decode(), "role": "log"}],
        "roots": [],
        "threshold": 0,
    }
    return (json.dumps(found, indent=2) + "\n").encode()


def read_trust(data: bytes) -> Trust:
    """Refused when the file is no trust file of this version, or names anything but one log key."""
    if len(data) > MAX_TRUST_BYTES:
        raise Refused("trust file", "too large")
    try:
        found: Any = json.loads(data)
        if found["metalwright_trust"] != VERSION:
            raise Refused("trust file", f"version {found['metalwright_trust']}, this program reads version {VERSION}")
        if found["roots"] or found["threshold"]:
            raise Refused("trust file", "it asks for root signatures, which this version cannot check")
        (key,) = (key for key in found["keys"] if key["role"] == "log" and key["keytype"] == "ed25519")
        public = base64.b64decode(key["public"], validate=True)
        trust = Trust(origin=str(found["origin"]), key_id=str(key["keyid"]), public_key=public, simulated=found["simulated"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise Refused("trust file", "not a metalwright trust file with one log key") from error
    if len(public) != 32 or not isinstance(trust.simulated, bool) or "\n" in trust.origin:
        raise Refused("trust file", "malformed")
    return trust
