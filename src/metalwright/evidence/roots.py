"""Root keys of a trust file: raw Ed25519 keys, and keys that people hold in OpenSSH's form, on a FIDO token if they like."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.evidence.canonical import from_base64, to_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.keys import PublicKey, public_key
from metalwright.evidence.ssh_wire import read_key
from metalwright.evidence.sshsig import armor, verify_ssh_signature

NAMESPACE = "metalwright-trust"
"""Of SSH signatures: `ssh-keygen -Y sign -n metalwright-trust`."""
WHERE = "trust file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SshRoot:
    """`line`: key type and base64, the first two words of a .pub file."""

    line: str

    @property
    def key_id(self) -> str:
        """sha256 of the key's wire form, hex."""
        return hashlib.sha256(from_base64(self.line.split(" ")[1], WHERE)).hexdigest()

    def is_signed(self, signature: bytes, message: bytes) -> bool:
        """Whether this key made the SSH signature (its bytes, without armour) over exactly this message, for trust files."""
        try:
            found = verify_ssh_signature(message, armor(signature), NAMESPACE)
        except Refused:
            return False
        return hashlib.sha256(found.key.blob).hexdigest() == self.key_id


Root = PublicKey | SshRoot


def ssh_root(line: str) -> SshRoot:
    """A root from the first two words of a .pub file; Refused for a key that is not accepted."""
    kind, _, encoded = line.partition(" ")
    if read_key(from_base64(encoded, WHERE), WHERE).type != kind:
        raise Refused(WHERE, "an SSH key under another type's name")
    return SshRoot(line=line)


def root_words(root: Root) -> dict[str, str]:
    """As the trust file says it."""
    kind, public = ("ssh", root.line) if isinstance(root, SshRoot) else ("ed25519", to_base64(root.raw))
    return {"keyid": root.key_id, "keytype": kind, "public": public}


def read_root(entry: Mapping[str, Any]) -> Root:
    """From the trust file. KeyError or TypeError for another shape."""
    public = str(entry["public"])
    return ssh_root(public) if entry["keytype"] == "ssh" else public_key(from_base64(public, WHERE), WHERE)
