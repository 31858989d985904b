"""A server's JSON → the flat messages of `model.agent_messages`, every field of the right type. Servers may be wrong or somebody else."""

import json
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from metalwright.agent.http_client import HttpError

T = TypeVar("T")


def read_answer(shape: type[T], body: bytes) -> T:
    """The message; unknown fields are ignored. HttpError when it is not one: the server is asked again."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HttpError(f"the server's {shape.__name__} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise HttpError(f"the server's {shape.__name__} is no object")
    taken: dict[str, Any] = {}
    for wanted in fields(shape):  # type: ignore[arg-type]
        if wanted.name in found:
            taken[wanted.name] = _typed(shape, wanted.name, wanted.type, found[wanted.name])
        elif wanted.default is MISSING:
            raise HttpError(f"the server's {shape.__name__} lacks {wanted.name}")
    return shape(**taken)


def _typed(shape: type, name: str, wanted: Any, value: Any) -> Any:
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:  # exactly: True is no number
        raise HttpError(f"the server's {shape.__name__} has a {type(value).__name__} as {name}")
    return value
