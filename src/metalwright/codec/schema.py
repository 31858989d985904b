"""The JSON Schema of site.yaml, made from the classes that read it: `python -m metalwright.codec.schema > docs/schema/site.schema.json`.

For editors and CI systems. The reader says more than a schema can: references, duplicates, files.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from metalwright.codec.parts import IN_FILES
from metalwright.codec.shapes import adapter
from metalwright.codec.table_parts import PurchaseFile
from metalwright.model.judgement import Gate, Phase
from metalwright.model.spec import SiteSpec

TITLE = "site.yaml of metalwright"
_FILES: Mapping[str, tuple[str, str]] = {
    "nodes": (r"\.(csv|tsv)$", "name of a CSV file of the folder"),
    "cables": (r"\.(csv|tsv)$", "name of a CSV file of the folder"),
    "purchase": (r"\.(csv|tsv|xlsx)$", "name of the packing list, its columns titled as the fields"),
    "firmware": (r"\.(csv|tsv|yaml|yml)$", "name of a CSV or YAML file of the folder"),
    "images": (r"\.ya?ml$", "name of a recipe, or a pattern such as images/*.yaml"),
}


class _Words(GenerateJsonSchema):
    """Text may be written as a bare number (`version: 2026.10`): the reader takes it as written, so the schema accepts it."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return super().str_schema(schema) | {"type": ["string", "number"]}


def site_schema() -> dict[str, Any]:
    """The schema as data: draft 2020-12."""
    shape = _definitions(SiteSpec)
    definitions = shape.pop("$defs") | _definitions(PurchaseFile).pop("$defs")
    site = definitions["SiteSpec"]
    definitions["PurchaseLine"]["properties"].pop("line")
    site["properties"]["depth"]["propertyNames"] = {"enum": list(dict.fromkeys([*map(str, Gate), *map(str, Phase)]))}
    site["properties"]["metalwright"] = {"const": 1, "description": "Version of this shape."}
    for key, value in site["properties"].items():
        if value.get("default", "") is None:
            site["properties"][key] = value["anyOf"][0]  # an empty key is refused: leave it out
    for key in IN_FILES:
        site["properties"][key] = _file_or_list(key, site["properties"][key])
    site["required"] = sorted(site["required"])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLE, "$ref": "#/$defs/SiteSpec"}
    return head | {"$defs": dict(sorted(definitions.items()))}


def _definitions(shape: Any) -> dict[str, Any]:
    checked: TypeAdapter[Any] = adapter(shape)
    return checked.json_schema(schema_generator=_Words)


def _file_or_list(key: str, listed: Mapping[str, Any]) -> dict[str, Any]:
    pattern, words = _FILES[key]
    entries = {name: value for name, value in listed.items() if name not in ("default", "title")}
    if key == "images":
        entries["items"] = {"anyOf": [entries["items"], {"type": "string", "pattern": pattern}]}
    choices: list[Any] = [{"type": "string", "pattern": pattern, "description": words}, entries]
    if key == "purchase":
        choices.append({"$ref": "#/$defs/PurchaseFile"})
    return {"anyOf": choices}


def schema_text() -> str:
    """The file as published."""
    return json.dumps(site_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
