"""The SSH wire format (RFC 4251 section 5) and the public keys in it: ed25519, ecdsa, rsa, and the FIDO keys `sk-ed25519` and `sk-ecdsa`.

Keys: RFC 4253 6.6 (rsa), RFC 5656 (ecdsa), RFC 8709 (ed25519), OpenSSH PROTOCOL.u2f (sk-). Only what is needed to verify.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import public_key

MIN_RSA_BITS = 2048
TOUCHED, VERIFIED = 0x01, 0x04
"""Flags of a FIDO signature (CTAP authenticator data): a person touched the key; a PIN or a finger was checked."""

CURVES: dict[str, tuple[ec.EllipticCurve, hashes.HashAlgorithm]] = {
    "nistp256": (ec.SECP256R1(), hashes.SHA256()),
    "nistp384": (ec.SECP384R1(), hashes.SHA384()),
    "nistp521": (ec.SECP521R1(), hashes.SHA512()),
}
RSA_HASHES: dict[str, hashes.HashAlgorithm] = {"rsa-sha2-256": hashes.SHA256(), "rsa-sha2-512": hashes.SHA512()}
"""`ssh-rsa` signatures are SHA-1 and refused, as OpenSSH does."""


class Reader:
    """Takes fields off the front of received bytes; Refused when they are not there."""

    def __init__(self, data: bytes, where: str) -> None:
        self._data, self._at, self.where = data, 0, where

    def take(self, length: int) -> bytes:
        """So many bytes."""
        found = self._data[self._at : self._at + length]
        if len(found) != length:
            raise Refused(self.where, "truncated")
        self._at += length
        return found

    def number(self) -> int:
        """uint32."""
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        """A length and that many bytes."""
        return self.take(self.number())

    def text(self) -> str:
        """A string of printable ASCII."""
        found = self.string()
        if not found.isascii() or not found.decode("ascii").isprintable():
            raise Refused(self.where, "a name that is not plain text")
        return found.decode("ascii")

    def mpint(self) -> int:
        """A number from 0 in its one spelling."""
        found = self.string()
        if found and (found[0] & 0x80 or (found[0] == 0 and (len(found) == 1 or not found[1] & 0x80))):
            raise Refused(self.where, "a negative number, or one in a second spelling")
        return int.from_bytes(found, "big")

    def end(self) -> None:
        """Refused when anything is left."""
        if self._at != len(self._data):
            raise Refused(self.where, "something is left over at its end")


def string(data: bytes) -> bytes:
    """A length and the bytes."""
    return len(data).to_bytes(4, "big") + data


@dataclass(frozen=True, slots=True, kw_only=True)
class SshKey:
    """A public key. `type`: its algorithm name; `blob`: its exact bytes, which are compared; `check`: (signature blob, message) → flags."""

    type: str
    blob: bytes
    check: Callable[[Reader, bytes], int | None]

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it, with the digest in hex."""
        return "sha256:" + hashlib.sha256(self.blob).hexdigest()

    @property
    def is_hardware(self) -> bool:
        """A FIDO key: each signature says whether a person touched it."""
        return self.type.startswith("sk-")


def read_key(blob: bytes, where: str) -> SshKey:
    """A public key blob; Refused for other types and for weak keys."""
    reader = Reader(blob, where)
    kind = reader.text()
    if kind == "ssh-ed25519":
        check = _ed25519(reader, kind)
    elif kind == "sk-ssh-ed25519@openssh.com":
        check = _touched(_ed25519(reader, kind), reader.string())
    elif kind.startswith("ecdsa-sha2-") and kind.removeprefix("ecdsa-sha2-") in CURVES:
        check = _ecdsa(reader, kind, kind.removeprefix("ecdsa-sha2-"))
    elif kind == "sk-ecdsa-sha2-nistp256@openssh.com":
        check = _touched(_ecdsa(reader, kind, "nistp256"), reader.string())
    elif kind == "ssh-rsa":
        check = _rsa(reader)
    else:
        raise Refused(where, f"a key of type {kind[:40]!r}, which is not accepted")
    reader.end()
    return SshKey(type=kind, blob=blob, check=check)


def verify_signature(key: SshKey, signature: bytes, message: bytes, where: str) -> int | None:
    """Refused unless the key made this signature over the message. Flags of a FIDO key; None for another."""
    reader = Reader(signature, where)
    flags = key.check(reader, message)
    reader.end()
    return flags


_Check = Callable[[Reader, bytes], int | None]


def _ed25519(reader: Reader, kind: str) -> _Check:
    key = public_key(reader.string(), reader.where)

    def check(signature: Reader, message: bytes) -> None:
        _expect(signature, kind)
        if not key.is_signed(signature.string(), message):
            raise Refused(signature.where, "the signature is wrong")

    return check


def _ecdsa(reader: Reader, kind: str, curve: str) -> _Check:
    if reader.text() != curve:
        raise Refused(reader.where, "a key whose curve is not that of its type")
    parameters, digest = CURVES[curve]
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(parameters, reader.string())
    except ValueError as error:
        raise Refused(reader.where, "not a point of its curve") from error

    def check(signature: Reader, message: bytes) -> None:
        _expect(signature, kind)
        pair = Reader(signature.string(), signature.where)
        r, s = pair.mpint(), pair.mpint()
        pair.end()
        try:
            key.verify(encode_dss_signature(r, s), message, ec.ECDSA(digest))
        except InvalidSignature as error:
            raise Refused(signature.where, "the signature is wrong") from error

    return check


def _rsa(reader: Reader) -> _Check:
    exponent, modulus = reader.mpint(), reader.mpint()
    if not MIN_RSA_BITS <= modulus.bit_length() <= 16384:
        raise Refused(reader.where, f"an RSA key of {modulus.bit_length()} bits; {MIN_RSA_BITS} are needed")
    try:
        key = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    except ValueError as error:
        raise Refused(reader.where, "not an RSA key") from error

    def check(signature: Reader, message: bytes) -> None:
        kind = signature.text()
        if kind not in RSA_HASHES:
            raise Refused(signature.where, f"an RSA signature of type {kind[:40]!r}, which is not accepted")
        try:
            key.verify(signature.string(), message, padding.PKCS1v15(), RSA_HASHES[kind])
        except InvalidSignature as error:
            raise Refused(signature.where, "the signature is wrong") from error

    return check


def _touched(inner: _Check, application: bytes) -> _Check:
    """PROTOCOL.u2f: sha256(application) || flags || counter || sha256(message) is signed; flags and counter follow the signature."""

    def check(signature: Reader, message: bytes) -> int:
        kind, body = signature.string(), signature.string()
        flags, counter = signature.take(1), signature.take(4)
        if not application.startswith(b"ssh:"):
            raise Refused(signature.where, "a FIDO key that was not made for SSH")
        signed = hashlib.sha256(application).digest() + flags + counter + hashlib.sha256(message).digest()
        inner(Reader(string(kind) + string(body), signature.where), signed)
        return flags[0]

    return check


def _expect(signature: Reader, kind: str) -> None:
    found = signature.text()
    if found != kind:
        raise Refused(signature.where, f"a signature of type {found[:40]!r} by a key of type {kind}")
