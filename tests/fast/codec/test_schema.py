"""The published JSON Schema: current, valid, and of one mind with the reader as far as a schema can be."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.scaffold_kinds import KINDS
from metalwright.codec.schema import schema_text, site_schema
from tests.fast.codec.bad_specs import BAD, Bad
from tests.fast.codec.bad_specs import YAML as SITE_YAML
from tests.fast.codec.small_site import FILES, SITE

PUBLISHED = Path(__file__).parents[3] / "docs" / "schema" / "site.schema.json"
BEYOND_A_SCHEMA = {
    "anchor": "the same data",
    "tag": "the same data",
    "directive": "the same data",
    "merge key": "some loaders merge",
    "secret outside": "paths are the reader's",
    "no network": "addresses are the reader's",
    "no time at all": "numbers in text are the reader's",
    "DHCP without a range": "one key needs another",
    "DHCP range backwards": "addresses are the reader's",
    "unknown library profile": "reference",
    "unknown profile of firmware": "reference",
    "unknown image": "reference",
    "unknown workload": "reference",
    "objective without a target": "one key needs another",
    "two racks of one name": "duplicate",
    "rack without a feed": "count",
    "two feeds of one name": "duplicate",
}


def _load(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


def test_the_published_schema_is_current() -> None:
    """docs/schema/site.schema.json is what the code writes: `python -m metalwright.codec.schema > docs/schema/site.schema.json`."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()


def test_the_schema_is_one() -> None:
    """An independent implementation accepts it as a schema of draft 2020-12."""
    Draft202012Validator.check_schema(json.loads(PUBLISHED.read_text(encoding="utf-8")))


@pytest.mark.parametrize("kind", KINDS)
def test_every_scaffold_fits(kind: str, tmp_path: Path) -> None:
    """An editor that knows the schema shows nothing red in a fresh scaffold."""
    write_scaffold(tmp_path / "atlas", kind)
    Draft202012Validator(site_schema()).validate(_load((tmp_path / "atlas" / "site.yaml").read_text()))


def test_the_small_site_fits() -> None:
    """Bare numbers where text is wanted are as good in the schema as in the reader."""
    Draft202012Validator(site_schema()).validate(_load(SITE))


@pytest.mark.parametrize(
    "bad", [bad for bad in BAD if bad.file == SITE_YAML and "nested" not in bad.why], ids=lambda bad: bad.why.replace(" ", "-")
)
def test_what_the_reader_refuses_the_schema_refuses(bad: Bad) -> None:
    """Bad keys, types and words are red in an editor too; what only the reader can see is listed with the reason."""
    text = FILES[SITE_YAML].replace(bad.old, bad.new, 1)
    try:
        data = _load(text)
    except YAMLError:
        return  # no editor gets as far as the schema
    is_refused = not Draft202012Validator(site_schema()).is_valid(data)
    assert is_refused == (bad.why not in BEYOND_A_SCHEMA)
