"""Texts that look like serials, made from the seed: the same seed gives the same site, for ever and on any machine."""

import hashlib
import uuid

_SERIAL_ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def number(seed: int, *path: str | int) -> int:
    """A 128-bit number that depends on the seed and on every word of the path."""
    words = "\x1f".join(str(word) for word in (seed, *path))
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=16).digest())


def serial(seed: int, *path: str | int, length: int = 12) -> str:
    """Upper-case letters and digits without I and O, as on labels."""
    rest = number(seed, *path, "serial")
    letters = []
    for _ in range(length):
        rest, position = divmod(rest, len(_SERIAL_ALPHABET))
        letters.append(_SERIAL_ALPHABET[position])
    return "".join(letters)


def digits(seed: int, *path: str | int, length: int = 13) -> str:
    """Decimal digits, the first never 0 (GPU serials look so)."""
    text = str(number(seed, *path, "digits")).rjust(length + 1, "7")
    return "1" + text[-(length - 1) :]


def uuid_text(seed: int, *path: str | int) -> str:
    """A version 4 shaped UUID, lower case."""
    return str(uuid.UUID(int=number(seed, *path, "uuid"), version=4))


def mac(seed: int, *path: str | int) -> str:
    """A locally administered unicast MAC, lower case with colons."""
    raw = bytearray(number(seed, *path, "mac").to_bytes(16)[:6])
    raw[0] = (raw[0] & 0xFC) | 0x02
    return ":".join(f"{byte:02x}" for byte in raw)
