"""Who may sign what: the OpenSSH allowed_signers format (ssh-keygen(1), ALLOWED SIGNERS), read strictly.

    principals [options] key-type base64-key [comment]

Options: `namespaces=`, `valid-after=`, `valid-before=`. Times must end in Z (OpenSSH reads others in local time, and machines differ).
`cert-authority` is refused: whoever holds that key could name anybody. A file with one bad line is refused as a whole: a line that is
not understood might be the one that limits somebody.
"""

import re
from calendar import timegm
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from metalwright.evidence.canonical import from_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.ssh_wire import SshKey, read_key
from metalwright.evidence.sshsig import SshSignature
from metalwright.model.ids import Instant

MAX_SIGNERS_BYTES = 1 << 20
_WORD = re.compile(r'(?:[^\s"]|"[^"]*")+')
_OPTION = re.compile(r'([A-Za-z-]+)(?:="([^"]*)")?(?:,|$)')
_FORMS = {9: "%Y%m%dZ", 13: "%Y%m%d%H%MZ", 15: "%Y%m%d%H%M%SZ"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSigner:
    """One line. Patterns are OpenSSH's: `*` and `?`, `!` before one that must not match. Times: the first good and first bad moment."""

    principals: tuple[str, ...]
    namespaces: tuple[str, ...] | None
    valid_after: Instant | None
    valid_before: Instant | None
    key: SshKey


def read_allowed_signers(data: bytes, where: str = "allowed_signers") -> tuple[AllowedSigner, ...]:
    """Every line; Refused with the line's number for the first that is not understood."""
    if len(data) > MAX_SIGNERS_BYTES:
        raise Refused(where, f"larger than {MAX_SIGNERS_BYTES} bytes")
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise Refused(where, "not UTF-8") from error
    stripped = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    return tuple(_signer(line, f"{where}:{number}") for number, line in stripped if line and not line.startswith("#"))


def check_signer(
    signers: tuple[AllowedSigner, ...], principal: str, signature: SshSignature, at: Instant, where: str = "signature"
) -> None:
    """Refused unless a line gives this key to this principal, for this namespace, at this moment."""
    named = [signer for signer in signers if matches(principal, signer.principals)]
    if not named:
        raise Refused(where, f"{principal} is not in allowed_signers")
    keyed = [signer for signer in named if signer.key.blob == signature.key.blob]
    if not keyed:
        raise Refused(where, f"made with {signature.key.fingerprint[:23]}, which is no key of {principal}")
    allowed = [signer for signer in keyed if signer.namespaces is None or matches(signature.namespace, signer.namespaces)]
    if not allowed:
        raise Refused(where, f"the key of {principal} is not for namespace {signature.namespace}")
    if not any(_is_valid_at(signer, at) for signer in allowed):
        raise Refused(where, f"the key of {principal} was not valid at that time")


def matches(text: str, patterns: tuple[str, ...]) -> bool:
    """OpenSSH's match_pattern_list: one matches, and none that begins with `!` does."""
    found = False
    for pattern in patterns:
        if _glob(pattern.removeprefix("!"), text):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _glob(pattern: str, text: str) -> bool:
    """`*` any letters, `?` one. Goes back to the last star only, so no pattern takes long."""
    at = here = 0
    star = -1
    resume = 0
    while here < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, here
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")


def _is_valid_at(signer: AllowedSigner, at: Instant) -> bool:
    return (signer.valid_after is None or at >= signer.valid_after) and (signer.valid_before is None or at < signer.valid_before)


def _signer(line: str, where: str) -> AllowedSigner:
    words = _WORD.findall(line)
    if len(words) < 3:
        raise Refused(where, "principals, options, key type and key are expected")
    principals = tuple(words[0].strip('"').split(","))
    options: Mapping[str, str] = {} if _is_key_type(words[1]) else _options(words[1], where)
    kind, encoded = (words[1], words[2]) if _is_key_type(words[1]) else (words[2], words[3] if len(words) > 3 else "")
    key = read_key(from_base64(encoded, where), where)
    if key.type != kind:
        raise Refused(where, f"a key of type {key.type} under the name {kind[:40]}")
    if not all(principals) or any('"' in principal for principal in principals):
        raise Refused(where, "an empty principal")
    namespaces = options.get("namespaces")
    return AllowedSigner(
        principals=principals,
        namespaces=None if namespaces is None else tuple(namespaces.split(",")),
        valid_after=_time(options.get("valid-after"), where),
        valid_before=_time(options.get("valid-before"), where),
        key=key,
    )


def _is_key_type(word: str) -> bool:
    return word.startswith(("ssh-", "sk-", "ecdsa-"))


def _options(word: str, where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(word):
        option = _OPTION.match(word, at)
        name = option[1].lower() if option else ""
        if option is None or option[2] is None or name not in ("namespaces", "valid-after", "valid-before") or name in found:
            known = 'namespaces="…", valid-after="…" and valid-before="…" are understood, each once; certificates are not'
            raise Refused(where, f"option {word[at : at + 40]!r}: {known}")
        found[name] = option[2]
        at = option.end()
    return found


def _time(text: str | None, where: str) -> Instant | None:
    """`YYYYMMDDZ`, `YYYYMMDDHHMMZ` or `YYYYMMDDHHMMSSZ`, UTC."""
    if text is None:
        return None
    try:
        if not (text[:-1].isascii() and text[:-1].isdigit()):
            raise ValueError
        return float(timegm(datetime.strptime(text, _FORMS[len(text)]).timetuple()))
    except (KeyError, ValueError) as error:
        raise Refused(where, f"time {text[:20]!r}: YYYYMMDDZ or YYYYMMDDHHMM[SS]Z is expected, in UTC") from error
