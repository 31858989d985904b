"""data/events.toml → `EventTable`."""

import tomllib
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter, ValidationError

from metalwright.model.errors import InvariantError
from metalwright.model.event_table import EventTable


@cache
def event_table() -> EventTable:
    """The table that ships with this version."""
    return parse(files("metalwright.data").joinpath("events.toml").read_text(encoding="utf-8"))


def parse(text: str) -> EventTable:
    """InvariantError when the shipped file is damaged, or gives one code two verdicts."""
    try:
        table = TypeAdapter(EventTable).validate_python(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise InvariantError(f"data/events.toml is damaged: {error}", hint="install metalwright again") from error
    codes = [(group.kind, code) for group in table.group for code in group.codes]
    if len(set(codes)) != len(codes):
        raise InvariantError("data/events.toml names a code twice", hint="install metalwright again")
    return table
