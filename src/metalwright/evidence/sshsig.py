"""Signatures of people, made with `ssh-keygen -Y sign` (OpenSSH PROTOCOL.sshsig), verified without it.

    ssh-keygen -Y sign -f key -n metalwright-waiver waiver.txt        makes waiver.txt.sig

A signature names its namespace, so one made for a waiver is none for an approval, a mail or a commit. FIDO keys must have been touched.
"""

import hashlib
from base64 import b64decode, b64encode
from dataclasses import dataclass

from metalwright.evidence.errors import Refused
from metalwright.evidence.ssh_wire import TOUCHED, VERIFIED, Reader, SshKey, read_key, string, verify_signature

MAGIC = b"SSHSIG"
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
MAX_SIGNATURE_BYTES = 64 << 10
HASHES = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}


@dataclass(frozen=True, slots=True, kw_only=True)
class SshSignature:
    """A good signature: by which key, for which namespace. `flags`: of a FIDO key."""

    key: SshKey
    namespace: str
    flags: int | None

    @property
    def is_person_verified(self) -> bool:
        """The FIDO key asked for its PIN or a finger; a plain key cannot tell."""
        return self.flags is not None and bool(self.flags & VERIFIED)


def verify_ssh_signature(message: bytes, armored: bytes, namespace: str, where: str = "signature") -> SshSignature:
    """A signature over exactly these bytes for this namespace; Refused otherwise. Who the key belongs to is another question."""
    reader = Reader(unarmor(armored, where), where)
    if reader.take(6) != MAGIC or reader.number() != 1:
        raise Refused(where, "not an SSH signature of version 1")
    key = read_key(reader.string(), where)
    named, reserved, hash_name, signature = reader.string(), reader.string(), reader.text(), reader.string()
    reader.end()
    if named != namespace.encode():
        raise Refused(where, f"made for namespace {named.decode('ascii', 'replace')[:60]!r}, {namespace!r} is needed")
    if reserved or hash_name not in HASHES:
        raise Refused(where, "with a hash or a field that is not accepted")
    flags = verify_signature(key, signature, signed_bytes(message, namespace, hash_name), where)
    if flags is not None and not flags & TOUCHED:
        raise Refused(where, "the FIDO key was not touched: nobody was there")
    return SshSignature(key=key, namespace=namespace, flags=flags)


def signed_bytes(message: bytes, namespace: str, hash_name: str = "sha512") -> bytes:
    """What the key signs for a message."""
    digest = HASHES[hash_name](message).digest()
    return MAGIC + string(namespace.encode()) + string(b"") + string(hash_name.encode()) + string(digest)


def unarmor(armored: bytes, where: str) -> bytes:
    """The bytes between the markers; Refused when there are none, or anything beside them."""
    if len(armored) > MAX_SIGNATURE_BYTES:
        raise Refused(where, f"larger than {MAX_SIGNATURE_BYTES} bytes")
    lines = armored.decode("ascii", "replace").strip().splitlines()
    if len(lines) < 3 or lines[0] != BEGIN or lines[-1] != END:
        raise Refused(where, "not an SSH signature file")
    try:
        data = b64decode("".join(lines[1:-1]), validate=True)
    except ValueError as error:
        raise Refused(where, "not base64") from error
    return data


def armor(data: bytes) -> bytes:
    """As `ssh-keygen -Y sign` writes it."""
    text = b64encode(data).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return ("\n".join([BEGIN, *lines, END]) + "\n").encode()
