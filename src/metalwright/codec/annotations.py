"""The annotations of the model, walked: which keys a block has, what stands at a path, and in words what belongs there."""

import dataclasses
import types
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NewType, Union, cast, get_args, get_origin, get_type_hints

from metalwright.codec.notebook import SpecPath
from metalwright.model.units import BmcUrl, DurationText, Form, MacText, SecretText, SerialText

_MARKED: Mapping[type, str] = {
    DurationText: "a whole number with its unit: 30s, 20min, 12h or 7d",
    SecretText: "a reference: env:NAME, file:path/in/the/folder or vault:path",
    MacText: "a MAC address such as 02:00:00:00:00:01",
    SerialText: "the serial printed on the label",
    BmcUrl: "the URL of the BMC, such as https://10.20.0.11",
}


def wanted(shape: Any, location: SpecPath) -> str:
    """What belongs there, from the annotation of the field."""
    keys = keys_of(shape_at(shape, location))
    if keys:
        return f"write a block with the keys {', '.join(keys)}"
    field = next((step for step in reversed(location) if isinstance(step, str)), "the value")
    return f"write {field} as {_described(_annotation_at(shape, location))}"


def _annotation_at(shape: Any, location: SpecPath) -> Any:
    """The annotation with its markers, for fields of a class."""
    owner = shape_at(shape, location[:-1]) if location else None
    if dataclasses.is_dataclass(owner):
        return _hints(cast(Hashable, owner)).get(str(location[-1]))
    return shape_at(shape, location)


def _described(annotation: Any) -> str:
    """The words of the marker, else of the type."""
    for marker in _markers(annotation):
        if isinstance(marker, Form):
            return marker.words
        if type(marker) in _MARKED:
            return _MARKED[type(marker)]
    return _name(bare(annotation))


def _markers(annotation: Any) -> Iterator[Any]:
    """Those of `Annotated[X, …]` and of `Annotated[X, …] | None`."""
    is_union = get_origin(annotation) in (Union, types.UnionType)
    for part in get_args(annotation) if is_union else (annotation,):
        if get_origin(part) is Annotated:
            yield from get_args(part)[1:]


def _name(shape: Any) -> str:
    if get_origin(shape) is Literal:
        return "one of " + ", ".join(map(str, get_args(shape)))
    if shape is None:
        return "see docs/schema/site.schema.json"
    inner: Any = shape.__supertype__ if isinstance(shape, NewType) else shape
    if get_origin(inner) is not None:
        return "a list" if get_origin(inner) is tuple else "a block of keys"
    words: dict[Any, str] = {int: "a whole number", float: "a number", str: "text, in quotes if in doubt", bool: "true or false"}
    return words.get(inner, str(getattr(inner, "__name__", inner)))


def keys_of(shape: Any) -> list[str]:
    """Field names of a dataclass; empty for anything else."""
    return [item.name for item in dataclasses.fields(shape)] if dataclasses.is_dataclass(shape) else []


def shape_at(shape: Any, location: SpecPath) -> Any:
    """The annotation at a path inside a shape, without markers and `| None`; None where the path leads nowhere."""
    shape = bare(shape)
    if not location:
        return shape
    step, rest = location[0], location[1:]
    if dataclasses.is_dataclass(shape):
        inner = _hints(cast(Hashable, shape)).get(str(step))
        return shape_at(inner, rest) if inner is not None else None
    arguments = get_args(shape)
    return shape_at(arguments[0 if isinstance(step, int) else -1], rest) if arguments else None


def bare(shape: Any) -> Any:
    """`Annotated[X, …] | None` → `X`."""
    while True:
        if get_origin(shape) is Annotated:
            shape = get_args(shape)[0]
        elif get_origin(shape) in (Union, types.UnionType):
            shape = next(item for item in get_args(shape) if item is not type(None))
        else:
            return shape


@cache
def _hints(shape: Any) -> dict[str, Any]:
    return get_type_hints(shape, include_extras=True)
