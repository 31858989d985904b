"""The JSON document inside a text that a tool wraps in words: bounded, and None instead of an exception."""

import json
from typing import Any

MAX_STARTS = 20


def document(text: str) -> Any:
    """The first object or list that parses from its brace to its end; None when there is none."""
    decoder = json.JSONDecoder(parse_int=_number, parse_constant=lambda _: None)
    at = -1
    for _ in range(MAX_STARTS):
        starts = [place for place in (text.find("{", at + 1), text.find("[", at + 1)) if place >= 0]
        if not starts:
            return None
        at = min(starts)
        try:
            found, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if found:
            return found
    return None


def _number(text: str) -> int | None:
    return int(text) if len(text) <= 20 else None


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """A short text of a scalar; empty for anything else."""
    return str(value)[:300] if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
