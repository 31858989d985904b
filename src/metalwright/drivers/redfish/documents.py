"""The documents of one sweep, and lenient reading of their values. Pure: what was fetched in, Python values out.

BMCs write numbers as text, `N/A` for unknown, and pad serials (Q50, Q52). Each leniency that was needed is counted, so that
the count is a fact about the BMC.
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from metalwright.model.placeholders import known

Document = Mapping[str, Any]
_NOTHING: Document = {}


def text_of(value: object) -> str | None:
    """Stripped text, or None for placeholders, blanks, and runs of one character such as `0000` or `-----` (Q52)."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return None
    return _known_text(value) if len(value) <= _SHORT else known(value)


_known_text = lru_cache(maxsize=8192)(known)
"""Names and models repeat from BMC to BMC; only short texts are remembered, since a BMC chooses their length."""
_SHORT = 64


def link_of(value: object) -> str | None:
    """The `@odata.id` of a reference, without a fragment or trailing slash."""
    target = value.get("@odata.id") if isinstance(value, dict) else None
    return target.partition("#")[0].rstrip("/") if isinstance(target, str) and target else None


def links_of(value: object) -> list[str]:
    """References of an array (or of one object written where an array belongs)."""
    items = value if isinstance(value, list) else [value]
    return [link for link in map(link_of, items) if link]


def inner(document: Document, *names: str) -> Document:
    """The object at a path of names; empty when anything on the way is absent, null or no object."""
    for name in names:
        found = document.get(name)
        if not isinstance(found, dict):
            return _NOTHING
        document = found
    return document


def objects(value: object) -> list[Document]:
    """The objects of an array; empty for null or anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class Documents:
    """What one sweep read: `found` by path, `failed` by path with the reason. Paths have no trailing slash."""

    def __init__(self) -> None:
        self.found: dict[str, Document] = {}
        self.failed: dict[str, str] = {}
        self.cut: dict[str, str] = {}
        """Collections that were read in part, with the reason."""
        self.pages: dict[str, dict[str, None]] = {}
        """Collection → links of its members, over all pages."""
        self.warnings = 0

    def get(self, path: str | None) -> Document:
        """The document, empty when it was not read."""
        return self.found.get(path, _NOTHING) if path else _NOTHING

    def members(self, collection: str | None) -> Iterator[tuple[str, Document]]:
        """Members of a collection that were read."""
        for path in self.pages.get(collection or "", ()):
            if path in self.found:
                yield path, self.found[path]

    def unread(self, collection: str | None) -> Iterator[tuple[str, str]]:
        """Members (or the collection itself) that could not be read, with the reason."""
        if not collection:
            return
        for problems in (self.failed, self.cut):
            if collection in problems:
                yield collection, problems[collection]
        for path in self.pages.get(collection, ()):
            if path in self.failed:
                yield path, self.failed[path]

    # -- lenient values -------------------------------------------------------------------------------------------------------

    def text(self, document: Document, name: str) -> str | None:
        """A text; numbers are accepted and counted."""
        value = document.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.warnings += 1
        return text_of(value)

    def number(self, document: Document, name: str) -> float | None:
        """A finite number; numbers written as text are accepted and counted, other texts counted and None."""
        value = document.get(name)
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            return float(value) if abs(value) < 1e300 and math.isfinite(value) else None
        if isinstance(value, str):
            self.warnings += 1
            return _float(value)
        return None

    def whole(self, document: Document, name: str) -> int | None:
        """A number without its fraction."""
        value = self.number(document, name)
        return None if value is None else int(value)


def _float(text: str) -> float | None:
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_absent(document: Document) -> bool:
    """An empty slot or socket: listed, not there."""
    return inner(document, "Status").get("State") == "Absent"


def trailing_number(text: str) -> int | None:
    """`NVLink_17` → 17, `SXM1` → 1; None without digits at the end, or with more than six."""
    digits = text[len(text.rstrip("0123456789")) :]
    return int(digits) if 0 < len(digits) <= 6 else None


def identifier(path: str, document: Document) -> str:
    """Id of a resource, or the last part of its path where a BMC leaves Id out (Q54)."""
    return text_of(document.get("Id")) or path.rpartition("/")[2]
