"""Plain data of the operator's files → the frozen model, with a Problem for every value that does not fit.

The classes of `model.spec` are the only description: pydantic reads them, here with unknown keys forbidden and types strict.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from metalwright.codec.annotations import keys_of, shape_at, wanted
from metalwright.codec.markers import FILES
from metalwright.codec.notebook import Notebook, SpecPath, did_you_mean, quote
from metalwright.model.units import Label

STRICT = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)
LAX = ConfigDict(extra="forbid", hide_input_in_errors=True)

_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "list": "a list",
    "dict": "a block of keys",
    "mapping": "a block of keys",
    "dataclass": "a block of keys",
}


@cache
def adapter(shape: Any, strict: bool = True) -> TypeAdapter[Any]:
    """An adapter of one shape; wrapped in a mapping because pydantic takes a configuration only beside a class, never on it."""
    return TypeAdapter(dict[str, shape], config=STRICT if strict else LAX)


def decode(shape: Any, value: Any, path: SpecPath, book: Notebook, texts: Mapping[SpecPath, str]) -> Any:
    """The value as the shape says, or None with its problems in the book. `path` is where it stands in the spec.

    A plain number where text is wanted (`version: 2026.10`) is taken as it was written.
    """
    try:
        return _validated(shape, value)
    except ValidationError as error:
        numbers = [(*path, *item["loc"][1:]) for item in error.errors() if item["type"] == "string_type"]
    value = orjson.loads(orjson.dumps(value))
    for number in numbers:
        if number in texts:
            value = _replaced(value, number[len(path) :], texts[number])
    try:
        return _validated(shape, value)
    except ValidationError as error:
        for item in error.errors():
            _tell(shape, item, path, book)
        return None


def decode_rows(
    shape: Any, rows: Sequence[Mapping[str, str]], numbers: Sequence[int], path: SpecPath, book: Notebook
) -> Iterator[tuple[int, Any]]:
    """Rows of text cells (empty cells left out) → (number, value) of those that fit; problems of the others in the book."""
    check = adapter(shape, strict=False)
    keyed = {str(number): row for number, row in zip(numbers, rows, strict=True)}
    try:
        found = check.validate_strings(keyed, context=FILES)
    except ValidationError as error:
        bad: set[str] = set()
        for item in error.errors(include_url=False):
            number = str(item["loc"][0])
            bad.add(number)
            location = tuple(item["loc"][1:])
            message, hint = _words(shape, item, location, is_cell=True)
            book.blame((*path, int(number), *location), message, hint)
        found = check.validate_strings({key: row for key, row in keyed.items() if key not in bad}, context=FILES)
    return ((int(key), value) for key, value in found.items())


def fits_label(text: str) -> bool:
    """Whether a text may name a site or a node."""
    book = Notebook()
    decode(Label, text, (), book, {})
    return not book.problems


def _validated(shape: Any, value: Any) -> Any:
    return adapter(shape).validate_json(orjson.dumps({"": value}), context=FILES)[""]


def _replaced(value: Any, path: SpecPath, new: Any) -> Any:
    if not path:
        return new
    value[path[0]] = _replaced(value[path[0]], path[1:], new)
    return value


def _tell(shape: Any, item: ErrorDetails, path: SpecPath, book: Notebook) -> None:
    location = tuple(step for step in item["loc"][1:] if step != "[key]")
    if path[:1] == ("secrets",) and isinstance(item.get("input"), str):
        item["input"] = "***"  # whoever wrote the secret itself here does not read it again in a terminal or a CI log
    message, hint = _words(shape, item, location)
    book.blame((*path, *location), message, hint)


def _words(shape: Any, item: ErrorDetails, location: SpecPath, is_cell: bool = False) -> tuple[str, str]:
    kind, context, given = item["type"], item.get("ctx") or {}, item.get("input")
    if kind == "told":
        return str(context["message"]), str(context["hint"])
    if kind == "missing":
        return ("the cell is empty" if is_cell else "is missing"), wanted(shape, location)
    if kind == "unexpected_keyword_argument":
        return f"unknown key {quote(location[-1])}", did_you_mean(str(location[-1]), keys_of(shape_at(shape, location[:-1])), "keys here")
    if kind in ("enum", "literal_error"):
        expected = [word.strip("'") for word in str(context.get("expected", "")).replace(" or ", ", ").split(", ")]
        return f"{quote(given)} is not known here", did_you_mean(str(given), expected, "one of")
    if given is None:
        return "is empty", wanted(shape, location)
    expected_kind = _EXPECTED.get(kind.split("_", maxsplit=1)[0], "another kind of value")
    shown = quote(given) if isinstance(given, (str, int, float)) else "a list" if isinstance(given, list) else "a block of keys"
    return f"expected {expected_kind}, not {_spelled(given, shown)}", wanted(shape, location)


def _spelled(given: Any, shown: str) -> str:
    if isinstance(given, bool):
        return "`true`" if given else "`false`"
    return f"the text {shown}" if isinstance(given, str) else shown
