"""YAML 1.2 text → plain data with the line of every value. A careful subset: what could surprise is refused.

Built on the parser's events, so that depth and size are bounded while reading (a scanner of nested brackets is quadratic) and every
anchor, alias, tag, directive, merge key and duplicate key has its line.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from metalwright.codec.notebook import SpecPath, quote

MOST_DEPTH = 20
MOST_VALUES = 50_000
MOST_TEXT = 4096
Plain = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None

_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,30}|[0-9]{1,30}(\.[0-9]{0,30})?)([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False
}  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """What is wrong with the text, before any meaning is known."""

    line: int
    message: str
    hint: str


class _Stop(Exception):
    """Reading on would only repeat the problem or cost too much."""


@dataclass(slots=True)
class YamlTree:
    """Data with the line of every path. `texts` holds plain numbers as written, for fields that are text (`version: 2026.10`)."""

    value: Plain = None
    lines: dict[SpecPath, int] = field(default_factory=dict)
    texts: dict[SpecPath, str] = field(default_factory=dict)
    problems: list[YamlProblem] = field(default_factory=list)


def read_yaml(text: str) -> YamlTree:
    """Read one document. Never raises: problems are in the tree, whose value is then not to be trusted."""
    tree = YamlTree()
    _refuse_tabs(text, tree)
    if not tree.problems:
        try:
            _Builder(tree).document(iter(YAML(typ="safe", pure=True).parse(text)))
        except _Stop:
            pass
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            tree.problems.append(YamlProblem(mark.line + 1 if mark else 0, f"not valid YAML: {_told(error)}", _SYNTAX_HINT))
        except YAMLError as error:
            tree.problems.append(
                YamlProblem(_line_of(text, error), "the text holds a character that YAML forbids", "remove control characters")
            )
    return tree


_SYNTAX_HINT = "check indentation, colons, quotes and brackets near this line; text with special characters needs quotes"


def _told(error: MarkedYAMLError) -> str:
    return quote(" ".join(str(part) for part in (error.problem, error.context) if part), 160).strip("`")


def _line_of(text: str, error: YAMLError) -> int:
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 0


def _refuse_tabs(text: str, tree: YamlTree) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if "\t" in line.partition(" #")[0] and not line.lstrip().startswith("#"):
            tree.problems.append(YamlProblem(number, "a tab character", "YAML forbids tabs in indentation: use spaces"))
            if len(tree.problems) >= 10:
                return


class _Builder:
    def __init__(self, tree: YamlTree) -> None:
        self._tree = tree
        self._count = 0

    def document(self, events: Iterator[Event]) -> None:
        self._events = events
        started = 0
        for event in events:
            if isinstance(event, DocumentStartEvent):
                started += 1
                if event.version is not None or event.tags:
                    self._refuse(event, "a YAML directive is not allowed", "remove the line that starts with %")
                if started > 1:
                    self._refuse(event, "a second document is not read", "one document per file: remove the line ---")
                    raise _Stop
            elif isinstance(event, NodeEvent):
                self._tree.value = self._value(event, (), 0)

    def _value(self, event: Event, path: SpecPath, depth: int) -> Plain:
        self._count += 1
        if self._count > MOST_VALUES:
            self._refuse(event, f"more than {MOST_VALUES:,} values", "move nodes and parts into CSV files")
            raise _Stop
        if depth > MOST_DEPTH:
            self._refuse(event, f"nested deeper than {MOST_DEPTH} levels", "no part of a site is nested like this")
            raise _Stop
        self._tree.lines.setdefault(path, event.start_mark.line + 1)
        if isinstance(event, AliasEvent):
            self._refuse(event, f"alias {quote(f'*{event.anchor}')} is not allowed", "write the value out here")
            return None
        if not isinstance(event, NodeEvent):
            raise _Stop
        self._refuse_decoration(event)
        if isinstance(event, ScalarEvent):
            return self._scalar(event, path)
        if isinstance(event, MappingStartEvent):
            return self._mapping(path, depth)
        return self._sequence(path, depth)

    def _refuse_decoration(self, event: NodeEvent) -> None:
        if event.anchor is not None:
            self._refuse(
                event, f"anchor {quote(f'&{event.anchor}')} is not allowed", "remove it, and write the value out where it is needed"
            )
        if isinstance(event, (ScalarEvent, CollectionStartEvent)) and event.tag is not None:
            self._refuse(event, f"tag {quote(event.tag)} is not allowed", "remove the tag: types follow from the key")

    def _mapping(self, path: SpecPath, depth: int) -> dict[str, Plain]:
        found: dict[str, Plain] = {}
        while not isinstance(event := next(self._events), CollectionEndEvent):
            key = self._key(event)
            inner = (*path, key)
            if key in found:
                first = self._tree.lines.get(inner, 0)
                self._refuse(event, f"key {quote(key)} twice (first in line {first})", "keep one of them")
                inner = (*path, key, "(again)")
            self._tree.lines[inner] = event.start_mark.line + 1
            found[key] = self._value(next(self._events), inner, depth + 1)
        return found

    def _key(self, event: Event) -> str:
        if not isinstance(event, ScalarEvent):
            self._refuse(event, "a key that is not text", "keys are plain words; is a bracket before it not closed?")
            raise _Stop
        self._refuse_decoration(event)
        if event.value == "<<":
            self._refuse(event, "merge key `<<` is not allowed", "write the values out")
        return self._clean(event)

    def _sequence(self, path: SpecPath, depth: int) -> list[Plain]:
        found: list[Plain] = []
        while not isinstance(event := next(self._events), CollectionEndEvent):
            found.append(self._value(event, (*path, len(found)), depth + 1))
        return found

    def _scalar(self, event: ScalarEvent, path: SpecPath) -> Plain:
        text = self._clean(event)
        if event.style is not None:
            return text
        value = resolve(text)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self._tree.texts[path] = text
        return value

    def _clean(self, event: ScalarEvent) -> str:
        text = str(event.value)
        if len(text) > MOST_TEXT:
            self._refuse(event, f"text of {len(text):,} characters", f"at most {MOST_TEXT:,} are read")
            return text[:MOST_TEXT]
        if _CONTROL.search(text):
            self._refuse(event, "text with a control character", "remove it: it would not show in logs and evidence")
        return text

    def _refuse(self, event: Event, message: str, hint: str) -> None:
        self._tree.problems.append(YamlProblem(event.start_mark.line + 1, message, hint))
        if len(self._tree.problems) >= 100:
            raise _Stop


def resolve(text: str) -> Plain:
    """The YAML 1.2 core schema: `no` and `on` stay words. Infinity, not-a-number and huge integers stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if re.fullmatch(r"0o[0-7]{1,20}|0x[0-9a-fA-F]{1,15}", text):
        return int(text, 0)
    number = float(text) if _FLOAT.fullmatch(text) else math.inf
    return number if math.isfinite(number) else text
