"""Hypothesis strategies for any noun of the model, from its types alone, without touching Hypothesis' global registry."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=8)
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    bool: st.booleans(),
    int: st.integers(min_value=0, max_value=2**31 - 1),
    float: st.floats(min_value=0.0, max_value=4e9),
    type(None): st.none(),
}


def any_noun(kind: Any) -> st.SearchStrategy[Any]:
    """Every value a frozen dataclass of the model may take: texts without NUL and surrogates, counts of 31 bits, times of this age."""
    if kind in SIMPLE:
        return SIMPLE[kind]
    if hasattr(kind, "__supertype__"):
        return any_noun(kind.__supertype__)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{field.name: st.deferred(lambda hint=hints[field.name]: any_noun(hint)) for field in fields(kind)})
    return _composed(kind)


def _composed(kind: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(any_noun, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(any_noun(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(any_noun, arguments))
    if origin is Mapping:
        return st.dictionaries(*map(any_noun, arguments), max_size=3)
    raise AssertionError(f"no strategy for {kind}")
