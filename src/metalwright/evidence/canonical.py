"""One spelling of everything: JSON, base64 and numbers that are read back must be written exactly as we write them.

A second spelling of the same meaning would be a byte that can be changed without breaking a signature. Sizes and depths are bounded,
because what is read here may come from anyone.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

from metalwright.evidence.errors import Refused

MAX_JSON_BYTES = 16 << 20
MAX_DEPTH = 40


def compact(value: Any) -> bytes:
    """JSON without blanks, keys as they come, UTF-8. Half a surrogate pair (hostile text from a machine) becomes `?`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


def sorted_json(value: Any) -> bytes:
    """JSON without blanks, keys sorted, ASCII: what is signed where no received bytes exist."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def read_json(data: bytes, where: str, *, floats: bool = False, limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """A JSON object; Refused for more than `limit` bytes, a key twice, NaN, deep nesting and (unless allowed) numbers with a point."""
    if len(data) > limit:
        raise Refused(where, f"larger than {limit} bytes")
    numbers: Mapping[str, Any] = {} if floats else {"parse_float": _no_float}
    try:
        found = json.loads(data, object_pairs_hook=_once, parse_constant=_no_constant, **numbers)
    except RecursionError as error:
        raise Refused(where, "nested too deeply") from error
    except ValueError as error:
        raise Refused(where, f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(where, "not a JSON object")
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and depth_of(found) > MAX_DEPTH:
        raise Refused(where, "nested too deeply")
    return found


def depth_of(value: Any) -> int:
    """How deeply objects and lists are nested, without recursion."""
    depth, layer = 0, [value]
    while layer := [item for item in layer if isinstance(item, Mapping | list | tuple)]:
        depth += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, Mapping) else item)]
    return depth


def to_base64(data: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(data).decode()


def from_base64(text: str, where: str) -> bytes:
    """Base64 in its one spelling (RFC 4648 section 3.5: unused bits are zero)."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Refused(where, "not base64") from error
    if to_base64(data) != text:
        raise Refused(where, "base64 in a second spelling")
    return data


def read_number(text: str, where: str) -> int:
    """A decimal number from 0 in its one spelling: ASCII digits, no sign, no leading zero."""
    if not text.isascii() or not text.isdigit() or len(text) > 18 or (text[0] == "0" and text != "0"):
        raise Refused(where, "not a number in its one spelling")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _no_float(text: str) -> Any:
    raise ValueError(f"{text[:20]} is a number with a point")


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number")
