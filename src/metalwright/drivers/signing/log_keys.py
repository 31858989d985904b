"""Where a log's private key is: in a file (the default), in an SSH agent, or in a PKCS#11 module.

`log.key` holds a key; or `log.key.json` says where it is:

    {"kind": "ssh-agent", "public": "ssh-ed25519 AAAA…"}
    {"kind": "pkcs11", "module": "/usr/lib/softhsm/libsofthsm2.so", "token": "metalwright", "label": "log", "pin": "file:pin"}
"""

import json
from pathlib import Path
from typing import Any, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from metalwright.codec.secrets import resolve
from metalwright.drivers.signing.pkcs11_key import ModuleKey
from metalwright.drivers.signing.ssh_agent import AgentKey
from metalwright.drivers.signing.whole_file import write_whole
from metalwright.evidence.canonical import from_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.ssh_wire import Reader
from metalwright.model.errors import InputError

KEY, KEY_PLACE = "log.key", "log.key.json"


class PrivateKey(Protocol):
    """`public_key`: 32 bytes of Ed25519."""

    @property
    def public_key(self) -> bytes: ...
    def sign(self, payload: bytes) -> bytes: ...


class FileKey:
    """A key in memory, read from its file."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public_key = key.public_key().public_bytes_raw()

    def sign(self, payload: bytes) -> bytes:
        return self._key.sign(payload)


def has_key(folder: Path) -> bool:
    """A key, or a word of where it is."""
    return (folder / KEY).exists() or (folder / KEY_PLACE).exists()


def make_key(folder: Path, name: str = KEY) -> FileKey:
    """A new key in a file of 0600."""
    key = Ed25519PrivateKey.generate()
    write_whole(folder / name, key.private_bytes_raw())
    return FileKey(key)


def open_key(folder: Path, suffix: str = "") -> PrivateKey:
    """The key of a state folder (`suffix` `.next`: of a rotation under way). InputError when it is not there, or not private."""
    if (folder / (KEY_PLACE + suffix)).exists():
        return _placed(folder / (KEY_PLACE + suffix))
    file = folder / (KEY + suffix)
    try:
        if file.stat().st_mode & 0o077:
            raise InputError(f"{file} can be read by others", hint=f"chmod 600 {file}, and ask who may have read it")
        return FileKey(Ed25519PrivateKey.from_private_bytes(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise InputError(f"the log key in {folder} cannot be used: {error}", hint="put the state folder back from a backup") from error


def _placed(file: Path) -> PrivateKey:
    try:
        place: dict[str, Any] = json.loads(file.read_bytes())
        if place["kind"] == "ssh-agent":
            return AgentKey(public_key=agent_public_key(place["public"]), path=str(place.get("socket", "")))
        if place["kind"] == "pkcs11":
            return ModuleKey(module=place["module"], token=place["token"], label=place["label"], pin=resolve(place["pin"], file.parent))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{file}: {error}", hint='{"kind": "ssh-agent", "public": "ssh-ed25519 AAAA…"}, or as docs/evidence.md says'
        ) from error
    raise InputError(f"{file}: kind {place['kind']!r}", hint="ssh-agent or pkcs11")


def agent_public_key(line: str) -> bytes:
    """The raw key of a .pub line. InputError for anything but Ed25519: the log's signatures are Ed25519."""
    kind, _, rest = line.partition(" ")
    try:
        if kind != "ssh-ed25519":
            raise Refused("key", f"of type {kind[:40]!r}")
        reader = Reader(from_base64(rest.split(" ")[0].strip(), "key"), "key")
        reader.string()
        raw = reader.string()
        reader.end()
    except Refused as refused:
        raise InputError(f"the log key must be ssh-ed25519: {refused}", hint="ssh-keygen -t ed25519") from refused
    return raw
