"""The site's state folder, `SITE/.metalwright/`: database, log key, trust file, boot key, the agent listener's certificate."""

import datetime
import hashlib
import os
import secrets
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from metalwright.model.errors import InputError

STATE = ".metalwright"
BOOT_KEY_BYTES = 32
RESTORE = "put agent-tls.pem, .crt and .key back from a backup of the state folder: installed systems speak to no other certificate"
CERTIFICATE_DAYS = 3650
"""Agents pin this certificate by digest, so its dates are never what is trusted; ten years outlive a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFolder:
    """Paths and keys of one site's state; every private file is 0600 in a folder of 0700."""

    path: Path
    boot_key: bytes
    certificate: Path
    certificate_key: Path
    pin: str
    """`sha256:<hex of the certificate's DER>`."""

    @property
    def is_embedded(self) -> bool:
        """The store is the SQLite file beside the keys."""
        return not os.environ.get("METALWRIGHT_DATABASE")

    @property
    def database_url(self) -> str:
        """The embedded store; `METALWRIGHT_DATABASE` names a PostgreSQL one instead."""
        return os.environ.get("METALWRIGHT_DATABASE") or f"sqlite:///{self.path / 'site.db'}"


def open_state(site: Path) -> StateFolder:
    """Open the state folder, made on first use. InputError when the disk or its permissions do not allow it."""
    path = site / STATE
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        boot_key = _once(path / "boot.key", lambda: secrets.token_bytes(BOOT_KEY_BYTES))
        if len(boot_key) != BOOT_KEY_BYTES:  # an empty one would make tokens that anyone can guess
            raise _damaged(path / "boot.key", "delete it: boots under way are begun again with new tokens")
        key, certificate = _certificate(path)
        pin = _pin_of(certificate, key)
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror}", hint="the site folder must be writable by you") from error
    return StateFolder(path=path, boot_key=boot_key, certificate=certificate, certificate_key=key, pin=pin)


def _once(file: Path, make: Callable[[], bytes]) -> bytes:
    """The file's bytes; made whole or not at all, so that a crash never leaves half a key."""
    if not file.exists():
        scratch = file.with_suffix(f".{os.getpid()}.new")
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(make())
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(scratch, file)  # fails when another process was first; its key is the key
        except FileExistsError:
            pass
        finally:
            scratch.unlink()
    return file.read_bytes()


def _certificate(path: Path) -> tuple[Path, Path]:
    both = _once(path / "agent-tls.pem", _make_certificate)
    key, certificate = path / "agent-tls.key", path / "agent-tls.crt"
    at = both.find(b"-----BEGIN CERTIFICATE-----")
    if at < 0:
        raise _damaged(path / "agent-tls.pem", RESTORE)
    _once(key, lambda: both[:at])
    _once(certificate, lambda: both[at:])
    return key, certificate


def _make_certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "metalwright agent endpoint")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=CERTIFICATE_DAYS))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def _pin_of(certificate: Path, key: Path) -> str:
    """The certificate's digest, once it and its key are known to be a pair that a listener can use."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        der = ssl.PEM_cert_to_DER_cert(certificate.read_text(encoding="ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise _damaged(certificate, RESTORE) from error
    return "sha256:" + hashlib.sha256(der).hexdigest()


def _damaged(file: Path, hint: str) -> InputError:
    return InputError(f"{file} is damaged", hint=hint)
