"""Model ↔ JSON bytes, both ways, for the store, the API and files. Digests are over the stored bytes, never over a re-encoding."""

import hashlib
from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from metalwright.model.errors import InvariantError
from metalwright.model.ids import Digest

T = TypeVar("T")


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def to_bytes(value: Any, shape: Any = None) -> bytes:
    """The JSON of a model object. `shape` is needed for unions (`Step`) and containers (`tuple[Finding, ...]`)."""
    return _adapter(cast(Hashable, shape if shape is not None else type(value))).dump_json(value)


def from_bytes(shape: type[T], data: bytes | str) -> T:
    """Read back what `to_bytes` wrote; anything else is our bug or an altered store (InvariantError)."""
    adapter: TypeAdapter[T] = _adapter(cast(Hashable, shape))
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        hint = "the database was altered or is from another version"
        raise InvariantError(f"stored {shape} does not read back: {error}", hint=hint) from error


def digest_of(data: bytes) -> Digest:
    """`sha256:<hex>` of the bytes."""
    return Digest("sha256:" + hashlib.sha256(data).hexdigest())
