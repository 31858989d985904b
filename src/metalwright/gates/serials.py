"""Serials, UUIDs and models as witnesses write them. Placeholders never identify anything."""

import re

from metalwright.model.placeholders import serial_of


def same_serial(one: str | None, other: str | None) -> bool:
    """Both are real serials, and equal."""
    a, b = serial_of(one), serial_of(other)
    return a is not None and a == b


def uuid_of(text: str | None) -> str | None:
    """A UUID as 32 lower-case hex digits, or None; all-zero and all-F are placeholders."""
    if text is None:
        return None
    digits = re.sub(r"[^0-9a-f]", "", text.lower().removeprefix("gpu-"))
    return digits if len(digits) == 32 and len(set(digits)) > 1 else None


def same_uuid(one: str, other: str) -> bool:
    """Equal, or equal with the first three fields in the other byte order.

    SMBIOS stores them little-endian since 2.6 (DMTF DSP0134, 7.2.1), and BMCs copy them either way.
    """
    return one == other or _swapped(one) == other


def _swapped(digits: str) -> str:
    raw = bytes.fromhex(digits)
    return (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex()


def model_matches(wanted: str, seen: str) -> bool:
    """Every word of the wanted model is a word of the seen one: `H100 80GB HBM3` fits `NVIDIA H100 80GB HBM3`, `H100` not `H200`."""
    makers = {"nvidia", "amd", "intel"}
    words = set(re.findall(r"[a-z0-9]+", wanted.lower())) - makers
    return bool(words) and words <= set(re.findall(r"[a-z0-9]+", seen.lower()))
