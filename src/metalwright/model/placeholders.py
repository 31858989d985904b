"""What firmware says where nobody set a value. One table for the operator's files, BMCs, FRUs and agents: none of it identifies anything.

Seen on real machines (SMBIOS, IPMI FRU and Redfish), not guessed at by a pattern.
"""

import re

_TEXTS = """
    n/a; na; none; null; nil; unknown; unspecified; undefined; invalid; empty; tbd; todo; sn; oem; o.e.m.; no dimm
    default; default string; not specified; not available; not applicable; not provided; not present
    to be filled; to be filled by o.e.m.; to be filled by o.e.m; to be filled by oem
    serial; serial no; serial number; system serial; system serial no; system serial number; chassis serial number; base board serial number
    123456789; 0123456789; 1234567890; 03000200-0400-0500-0006-000700080009
"""
_BLANKS = str.maketrans(dict.fromkeys(" \t-_"))
_OUTSIDE = " \t\r\n\0\""  # fmt: skip
_ONE_LETTER = re.compile(r"[ :-]*(.?)(?:\1|[ :-])*", re.IGNORECASE)
"""`0000`, `-----`, and UUIDs or MACs of zeros or Fs only."""
_LONGEST = 1024


def known(text: str | None) -> str | None:
    """The text without blanks and quotes around it, cut at 1024; None when it is empty or a placeholder."""
    bare = (text or "")[:_LONGEST].strip(_OUTSIDE)
    if not bare or _folded(bare) in _PLACEHOLDERS or (len(bare) > 2 and _ONE_LETTER.fullmatch(bare)):
        return None
    return bare


def serial_of(text: str | None) -> str | None:
    """A serial in comparable form, or None: upper case, no placeholder, and not one character repeated, however short."""
    bare = known(text)
    return None if bare is None or _ONE_LETTER.fullmatch(bare) else bare.upper()


def _folded(text: str) -> str:
    """Placeholders compare without case, blanks, hyphens and underlines."""
    return text.lower().translate(_BLANKS)


_PLACEHOLDERS = frozenset(_folded(text.strip()) for line in _TEXTS.strip().splitlines() for text in line.split(";"))
