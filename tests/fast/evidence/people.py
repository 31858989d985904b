"""People who sign with the real `ssh-keygen`, and FIDO keys made in memory as the hardware makes them."""

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from metalwright.evidence.canonical import to_base64
from metalwright.evidence.ssh_wire import string
from metalwright.evidence.sshsig import MAGIC, armor, signed_bytes

has_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen (Debian package openssh-client)")


@dataclass(frozen=True)
class Person:
    """A key file pair made by ssh-keygen."""

    name: str
    key: Path

    @property
    def public(self) -> str:
        """`type base64`."""
        return " ".join(self.key.with_suffix(".pub").read_text().split(" ")[:2]).strip()

    def line(self, options: str = "") -> str:
        """Of allowed_signers."""
        return f"{self.name} {options + ' ' if options else ''}{self.public}\n"

    def sign(self, message: bytes, namespace: str, *options: str) -> bytes:
        """`ssh-keygen -Y sign`, the message on standard input."""
        command = ["ssh-keygen", "-Y", "sign", "-f", str(self.key), "-n", namespace, *options]
        return subprocess.run(command, input=message, capture_output=True, check=True).stdout


def person(folder: Path, name: str, kind: str = "ed25519", *options: str) -> Person:
    """A new key without a passphrase."""
    key = folder / f"key-{len(list(folder.iterdir()))}"
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", str(key), *options]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return Person(name, key)


def ssh_keygen_verifies(
    folder: Path, signers: str, principal: str, namespace: str, message: bytes, signature: bytes, *options: str
) -> bool:
    """What `ssh-keygen -Y verify` says."""
    (folder / "signers").write_text(signers)
    (folder / "sig").write_bytes(signature)
    command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", principal, "-n", namespace, "-s", "sig", *options]
    return subprocess.run(command, cwd=folder, input=message, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class FidoKey:
    """What a security key does: it signs with flags and a counter (CTAP), and OpenSSH wraps it. `application` begins with `ssh:`."""

    kind: Literal["ed25519", "ecdsa"] = "ed25519"
    application: bytes = b"ssh:"

    @property
    def _ed25519(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(b"k" * 32)

    @property
    def _ecdsa(self) -> ec.EllipticCurvePrivateKey:
        return ec.derive_private_key(7, ec.SECP256R1())

    @property
    def type(self) -> bytes:
        return b"sk-ssh-ed25519@openssh.com" if self.kind == "ed25519" else b"sk-ecdsa-sha2-nistp256@openssh.com"

    @property
    def blob(self) -> bytes:
        if self.kind == "ed25519":
            return string(self.type) + string(self._ed25519.public_key().public_bytes_raw()) + string(self.application)
        point = self._ecdsa.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return string(self.type) + string(b"nistp256") + string(point) + string(self.application)

    def line(self, name: str, options: str = "") -> str:
        return f"{name} {options + ' ' if options else ''}{self.type.decode()} {to_base64(self.blob)}\n"

    def sign(self, message: bytes, namespace: str, *, flags: int = 0x01, counter: int = 9) -> bytes:
        inner = signed_bytes(message, namespace)
        tail = bytes([flags]) + counter.to_bytes(4, "big")
        signed = hashlib.sha256(self.application).digest() + tail + hashlib.sha256(inner).digest()
        signature = string(self.type) + string(self._raw(signed)) + tail
        head = MAGIC + (1).to_bytes(4, "big") + string(self.blob)
        return armor(head + string(namespace.encode()) + string(b"") + string(b"sha512") + string(signature))

    def _raw(self, signed: bytes) -> bytes:
        if self.kind == "ed25519":
            return self._ed25519.sign(signed)
        r, s = decode_dss_signature(self._ecdsa.sign(signed, ec.ECDSA(hashes.SHA256())))
        return b"".join(string(number.to_bytes(number.bit_length() // 8 + 1, "big")) for number in (r, s))
