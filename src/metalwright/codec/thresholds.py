"""data/thresholds.yaml → `Threshold`s by name. Package data: read once per process, the same for every case."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from metalwright.model.errors import InvariantError
from metalwright.model.threshold import Threshold


@cache
def library() -> Mapping[str, Threshold]:
    """Every threshold that ships with this version."""
    return parse(files("metalwright.data").joinpath("thresholds.yaml").read_text(encoding="utf-8"))


def parse(text: str) -> Mapping[str, Threshold]:
    """A list of thresholds; InvariantError when the shipped file is damaged (names twice, fields missing)."""
    try:
        rows = YAML(typ="safe", pure=True).load(text)
        read = TypeAdapter(tuple[Threshold, ...]).validate_python([{**row, "date": str(row.get("date", ""))} for row in rows])
    except (YAMLError, ValidationError, TypeError, AttributeError) as error:
        raise InvariantError(f"data/thresholds.yaml is damaged: {error}", hint="install metalwright again") from error
    found = {threshold.name: threshold for threshold in read}
    if len(found) != len(read):
        raise InvariantError("data/thresholds.yaml names a threshold twice", hint="install metalwright again")
    return found
