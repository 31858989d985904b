"""Papers that people sign: short texts of one field a line, which a person can read before signing.

    metalwright <kind> v1
    <field> <value>
    …

The fields of a kind come in a fixed order, each once; values are one line of printable text. A paper has one spelling, and its exact
bytes are what the signature covers, what the log keeps, and what is verified again.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from metalwright.evidence.allowed_signers import AllowedSigner, check_signer, read_allowed_signers
from metalwright.evidence.canonical import sorted_json
from metalwright.evidence.errors import Refused
from metalwright.evidence.sshsig import SshSignature, verify_ssh_signature
from metalwright.evidence.trust import Trust
from metalwright.model.ids import Digest, Instant
from metalwright.model.spec import Role

MAX_PAPER_BYTES = 16 << 10
TIME_FORM = "%Y-%m-%dT%H:%M:%SZ"
_FIELD = re.compile(r"[a-z][a-z-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Who may sign, and in which role: `keys/allowed_signers` and `responsible` of the spec, as the trust file endorses them."""

    signers: tuple[AllowedSigner, ...]
    roles: Mapping[Role, tuple[str, ...]]


def authority_digest(allowed_signers: bytes, roles: Mapping[Role, Sequence[str]]) -> str:
    """What a trust file endorses: sha256 hex over the exact signers file and who has which role."""
    words = {"allowed_signers": hashlib.sha256(allowed_signers).hexdigest(), "roles": {str(role): sorted(roles[role]) for role in roles}}
    return hashlib.sha256(sorted_json(words)).hexdigest()


def read_authority(allowed_signers: bytes, roles: Mapping[Role, tuple[str, ...]], trust: Trust) -> Authority:
    """Refused when the trust file endorses other signers or roles: then only its root keys can change them."""
    if trust.authority is not None and trust.authority != authority_digest(allowed_signers, roles):
        raise Refused("allowed_signers", "signers or roles are not those that the trust file endorses: a new version of it is needed")
    return Authority(signers=read_allowed_signers(allowed_signers), roles=roles)


def namespace_of(kind: str) -> str:
    """Of the SSH signature: `metalwright-waiver`. A signature for one kind is none for another."""
    return f"metalwright-{kind}"


def write_paper(kind: str, fields: Sequence[tuple[str, str]]) -> bytes:
    """The bytes to sign. Refused for a value that would not read back."""
    data = "\n".join([f"metalwright {kind} v1", *(f"{name} {value}" for name, value in fields)]) + "\n"
    read_paper(data.encode(), kind, [name for name, _ in fields])
    return data.encode()


def read_paper(data: bytes, kind: str, names: Sequence[str]) -> dict[str, str]:
    """Its fields; Refused for another kind, another order, anything left over."""
    if len(data) > MAX_PAPER_BYTES:
        raise Refused(kind, f"larger than {MAX_PAPER_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(kind, "not UTF-8") from error
    if unicodedata.normalize("NFC", text) != text:
        raise Refused(kind, "letters in a second spelling (Unicode NFC is expected)")
    first, *lines = text.split("\n")
    if first != f"metalwright {kind} v1" or not lines or lines.pop():
        raise Refused(kind, f"not a `metalwright {kind} v1`")
    if len(lines) != len(names):
        raise Refused(kind, f"{len(names)} fields are expected, found {len(lines)}")
    return {name: _value(line, name, kind) for name, line in zip(names, lines, strict=True)}


def verify_paper(data: bytes, signature: bytes, kind: str, *, by: str, authority: Authority, at: Instant) -> SshSignature:
    """Refused unless `by` signed exactly these bytes for this kind, with a key that was good at that time."""
    found = verify_ssh_signature(data, signature, namespace_of(kind), f"signature of the {kind}")
    check_signer(authority.signers, by, found, at, f"signature of the {kind}")
    return found


def check_role(kind: str, by: str, role: Role, authority: Authority) -> None:
    """Refused unless the spec gives this person this role."""
    if by not in authority.roles.get(role, ()):
        raise Refused(
            kind, f"{by} has not the role {role}: `responsible` of the spec names {', '.join(authority.roles.get(role, ())) or 'nobody'}"
        )


def paper_digest(data: bytes) -> Digest:
    """What records cite."""
    return Digest("sha256:" + hashlib.sha256(data).hexdigest())


def write_time(at: Instant) -> str:
    """`2026-12-01T09:00:00Z`."""
    return datetime.fromtimestamp(at, UTC).strftime(TIME_FORM)


def read_time(text: str, kind: str) -> Instant:
    """Its one spelling; Refused otherwise."""
    try:
        at = datetime.strptime(text, TIME_FORM).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise Refused(kind, f"time {text[:30]!r}: 2026-12-01T09:00:00Z is the form") from error
    if write_time(at) != text:
        raise Refused(kind, f"time {text[:30]!r} in a second spelling")
    return at


def _value(line: str, name: str, kind: str) -> str:
    found, _, value = line.partition(" ")
    if found != name or not _FIELD.fullmatch(name):
        raise Refused(kind, f"`{name}` is expected, found {found[:20]!r}")
    if not value or value != value.strip() or not value.isprintable():
        raise Refused(kind, f"`{name}`: one line of printable text is expected")
    return value
