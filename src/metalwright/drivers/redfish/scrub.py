"""Takes what names a machine or a person out of recorded documents, the same value everywhere by the same stand-in. Pure.

Stand-ins have the length and the kind of letters of what they replace, so that a scrubbed tree behaves like the real one. They
come from a key that is thrown away: nobody can compute them back. A value is one value however it is written: `5c:ff:35:…` and
`5CFF35…` have the same stand-in, and a serial inside a longer word (`idrac-F54P1G3`, or its ASCII codes in a UUID) is found too.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any

from metalwright.drivers.redfish.scrub_rules import LONGEST, Rule, is_identity, is_name, is_telling, rule_for
from metalwright.drivers.redfish.scrub_words import any_of

_OCTETS = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4,}[0-9A-Fa-f]{2}(?![0-9A-Fa-f])")
"""MACs, EUIs, DUIDs, serials of certificates."""
_DEVICE_PATH_MAC = re.compile(r"(?<=MAC\()[0-9A-Fa-f]{12,}")
"""As UEFI writes a network boot option: `MAC(946DAE…,0x1)`."""
_UUID = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
_LONG_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?[0-9A-Fa-f]{32,}(?![0-9A-Za-z])")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+\w")
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){3,7}(?::?[0-9A-Fa-f]{1,4}|:)(?![\w:])|(?<![\w:])[Ff][Ee]80::[0-9A-Fa-f:]+")
_VERSION_LIKE = re.compile(r"ersion|evision|Firmware", re.IGNORECASE)
_SAFE_ADDRESSES = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255"})  # noqa: S104 - texts to keep, nothing is bound
_SPELLED_SECRET = "-----BEGIN"
"""How certificates and keys begin (RFC 7468)."""


class Scrubber:
    """Learns names from all documents first, then rewrites each."""

    def __init__(self, key: bytes, *, words: Iterable[str] = ()) -> None:
        """`words` are names from elsewhere: the account, the password, the host that was asked."""
        self._key = key
        self._names: dict[str, bool] = {word: is_identity(word) for word in words if is_telling(word)}
        """Name → whether it is replaced inside longer words too."""
        self._inside: re.Pattern[str] | None = None
        self._alone: re.Pattern[str] | None = None
        self._done: dict[str, str] = {}

    def learn(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Collect the values of naming properties. Call it once, with everything."""
        keys: set[str] = set()
        for document in documents:
            for name, value in _properties(document):
                keys.add(name)
                if isinstance(value, str):
                    self._names.update((found[0], True) for found in _OCTETS.finditer(value) if len(found[0]) <= LONGEST)
                if rule_for(name) is Rule.NAME:
                    self._names.update(
                        (text, is_identity(text)) for text in _texts(value) if is_name(name, text) and not _IPV4.fullmatch(text)
                    )
        for word in keys & self._names.keys():
            del self._names[word]  # a word of the schema names nothing
        inside = {form.lower() for name, is_inside in self._names.items() if is_inside for form in _forms(name)}
        self._inside = any_of(inside, re.IGNORECASE)
        self._alone = any_of({name for name, is_inside in self._names.items() if not is_inside}, bounded=True)

    def rewrite_document(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document itself, changed: texts, keys, and numbers of naming properties. Without recursion: a BMC decides the depth."""
        waiting: list[Any] = [document]
        while waiting:
            holder = waiting.pop()
            if isinstance(holder, MutableMapping):
                for name in list(holder):
                    holder[self.rewrite(name)] = self._value(name, holder.pop(name), waiting)
            elif isinstance(holder, MutableSequence):
                for place, value in enumerate(holder):
                    holder[place] = self._value("", value, waiting)
        return document

    def rewrite(self, text: str) -> str:
        """A text or a path with every learned name, MAC, UUID, address and long hexadecimal text replaced."""
        done = self._done.get(text)
        if done is None:
            done = self._done[text] = self._rewritten(text)
        return done

    def _value(self, name: str, value: Any, waiting: list[Any]) -> Any:
        rule = rule_for(name)
        if isinstance(value, str):
            return self._text(name, value, rule)
        if isinstance(value, list) and rule is not None:
            waiting.extend(each for each in value if isinstance(each, dict | list))
            return [self._text(name, each, rule) if isinstance(each, str) else each for each in value]
        if isinstance(value, dict | list):
            waiting.append(value)
        elif rule is Rule.NAME and type(value) is int and value >= 1000:
            return int("1" + self.stand_in(str(value))[1:])
        return value

    def _text(self, name: str, text: str, rule: Rule | None) -> str:
        if name.startswith("@odata.") and name != "@odata.etag" and not text.startswith("/"):
            return text  # types and contexts are the schema's words
        if _SPELLED_SECRET in text or (rule is not None and len(text) > LONGEST):
            return "(removed)"
        if rule is not None and is_telling(text.strip()) and not _IPV4.fullmatch(text):
            return self.stand_in(text)
        return text if _VERSION_LIKE.search(name) and _IPV4.fullmatch(text) else self.rewrite(text)

    def _rewritten(self, text: str) -> str:
        for pattern in (_UUID, _OCTETS, _DEVICE_PATH_MAC, _LONG_HEX, self._inside, self._alone, _EMAIL):
            if pattern is not None:
                text = self._apart(pattern, text)
        text = _IPV6.sub(lambda found: self._ipv6(found[0]), text)
        return _IPV4.sub(lambda found: self._ipv4(found, text), text)

    def _apart(self, pattern: re.Pattern[str], text: str) -> str:
        return pattern.sub(lambda found: self.stand_in(found[0]), text)

    def stand_in(self, text: str) -> str:
        """Letter for letter of the same kind; a MAC becomes a locally administered one, so that it is nobody's."""
        core = "".join(letter for letter in text if letter.isascii() and letter.isalnum()).upper()
        is_hex = len(core) >= 12 and all(letter in "0123456789ABCDEF" for letter in core)
        stream = iter(self._stream(core, len(core)))
        made = "".join(_alike(letter, next(stream), is_hex=is_hex) if letter.isascii() and letter.isalnum() else letter for letter in text)
        return "02" + made[2:] if is_hex and len(core) == 12 else made

    def _ipv4(self, found: re.Match[str], text: str) -> str:
        """Documentation addresses (RFC 5737). Firmware versions look alike and are kept."""
        address = found[0]
        before = text[max(0, found.start() - 40) : found.start()]
        is_address = all(int(part) < 256 for part in address.split("."))
        if address in _SAFE_ADDRESSES or not is_address or _VERSION_LIKE.search(before) or address.startswith("255."):
            return address
        return f"192.0.2.{self._stream(address, 1)[0]}"

    def _ipv6(self, address: str) -> str:
        """Documentation addresses (RFC 3849)."""
        octets = self._stream(address.lower(), 4)
        return f"2001:db8::{octets[0]:x}{octets[1]:02x}:{octets[2]:x}{octets[3]:02x}"

    def _stream(self, text: str, length: int) -> bytes:
        """As many octets as wanted from key and text: SHAKE256 with the key in front (FIPS 202)."""
        return hashlib.shake_256(self._key + b"\0" + text.encode()).digest(length)


def _forms(name: str) -> Iterator[str]:
    """How one name may be written: as it is, without its separators (MACs in host names), as ASCII codes (in engine ids)."""
    yield name
    core = name.replace(":", "").replace("-", "")
    if is_identity(core) and len(core) >= 12:
        yield core
    if name.isascii():
        yield name.encode().hex()


def _texts(value: object) -> Iterator[str]:
    """The texts of a naming property: one, a number, or a list."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item.strip()
        elif isinstance(item, int) and not isinstance(item, bool):
            yield str(item)


def _alike(letter: str, octet: int, *, is_hex: bool) -> str:
    """A digit for a digit, a letter for a letter of its case."""
    if letter.isdigit():
        return str(octet % 10)
    made = "abcdef"[octet % 6] if is_hex else chr(ord("a") + octet % 26)
    return made.upper() if letter.isupper() else made


def _properties(document: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Every (name, value) in a document, however deep; without recursion, since a BMC decides the depth."""
    waiting: list[Any] = [document]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for name, value in item.items():
                yield name, value
                waiting.append(value)
        elif isinstance(item, list):
            waiting.extend(item)
