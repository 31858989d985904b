"""Ed25519 keys of logs, roots and witnesses."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from metalwright.evidence.errors import Refused


@dataclass(frozen=True, slots=True)
class PublicKey:
    """`raw`: the 32 bytes of RFC 8032."""

    raw: bytes

    @property
    def key_id(self) -> str:
        """sha256 of the raw key, hex."""
        return hashlib.sha256(self.raw).hexdigest()

    def is_signed(self, signature: bytes, message: bytes) -> bool:
        """Whether this key made the signature over exactly this message."""
        try:
            _loaded(self.raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True


def public_key(raw: bytes, where: str) -> PublicKey:
    """A key from received bytes; Refused when they are none."""
    try:
        _loaded(raw)
    except ValueError as error:
        raise Refused(where, "not an Ed25519 public key") from error
    return PublicKey(raw)


@lru_cache(maxsize=64)
def _loaded(raw: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(raw)
