"""Takes what names a machine or a person out of recorded documents, the same value everywhere by the same stand-in. Pure.

Stand-ins have the length and the kind of letters of what they replace, so that a scrubbed tree behaves like the real one. They
come from a key that is thrown away: nobody can compute them back.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Any

from metalwright.drivers.redfish.documents import text_of

_NAMING = frozenset(
    {
        "SerialNumber", "UUID", "HostName", "FQDN", "AssetTag", "SKU", "ServiceTag", "BoardSerialNumber", "ServiceEntryPointUUID",
        "MACAddress", "PermanentMACAddress", "ManagerMACAddress", "UserName", "DNSName", "DurableName", "NodeGUID", "SystemGUID",
        "ChassisServiceTag", "NodeID", "PermanentPortGUID", "PermanentNodeGUID", "PermanentSystemGUID", "WWN", "Location",
        "PhysicalLocation", "Contact", "EmailAddress", "DomainName", "Room", "Rack", "Row", "Building",
    }
)  # fmt: skip
_SHORTEST = 4
"""Shorter values (`1`, `NA`) would be replaced inside everything else."""
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_UUID = re.compile(r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b")
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){3,7}(?::?[0-9A-Fa-f]{1,4}|:)(?![\w:])|(?<![\w:])[Ff][Ee]80::[0-9A-Fa-f:]+")
_VERSION_LIKE = re.compile(r"ersion|evision|Firmware", re.IGNORECASE)
_SAFE_ADDRESSES = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255"})  # noqa: S104 - texts to keep, nothing is bound


class Scrubber:
    """Learns names from all documents first, then rewrites each."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._stand_ins: dict[str, str] = {}
        self._names: re.Pattern[str] | None = None

    def learn(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Collect the values of naming properties."""
        for document in documents:
            for name, value in _properties(document):
                text = text_of(value) if name in _NAMING else None
                if text is not None and len(text) >= _SHORTEST:
                    self._stand_ins.setdefault(text, self._stand_in(text))
        longest_first = sorted(self._stand_ins, key=len, reverse=True)
        any_name = "|".join(map(re.escape, longest_first))
        self._names = re.compile(f"(?<![A-Za-z0-9])(?:{any_name})(?![A-Za-z0-9])") if longest_first else None

    def rewrite(self, text: str) -> str:
        """JSON text or a path with every learned name, MAC, UUID and address replaced."""
        if self._names is not None:
            text = self._names.sub(lambda found: self._stand_ins[found[0]], text)
        text = _UUID.sub(lambda found: self._once(found[0]), text)
        text = _MAC.sub(lambda found: self._mac(found[0]), text)
        text = _IPV6.sub(lambda found: self._ipv6(found[0]), text)
        return _IPV4.sub(lambda found: self._ipv4(found, text), text)

    def _once(self, text: str) -> str:
        """A stand-in is not replaced again."""
        return text if text in self._stand_ins.values() else self._stand_in(text)

    def _stand_in(self, text: str) -> str:
        if _MAC.fullmatch(text):
            return self._mac(text)
        stream = self._stream(text.upper(), len(text))
        is_hex = bool(_UUID.fullmatch(text))
        return "".join(_alike(letter, stream[place], is_hex=is_hex) for place, letter in enumerate(text))

    def _mac(self, text: str) -> str:
        """Locally administered, so that it is nobody's; a stand-in stays."""
        if text.startswith(("02:", "02-")):
            return text
        octets = self._stream(text.upper().replace("-", ":"), 5)
        joint = text[2]
        made = joint.join(["02", *(f"{octet:02x}" for octet in octets)])
        return made.upper() if text != text.lower() else made

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
        block = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        while len(block) < length:
            block += hmac.new(self._key, block, hashlib.sha256).digest()
        return block[:length]


def _alike(letter: str, octet: int, *, is_hex: bool) -> str:
    """A digit for a digit, a letter for a letter of its case; all else stays."""
    if letter.isdigit() and letter.isascii():
        return str(octet % 10)
    if letter.isalpha() and letter.isascii():
        made = "abcdef"[octet % 6] if is_hex else chr(ord("a") + octet % 26)
        return made.upper() if letter.isupper() else made
    return letter


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
