"""What holds for every spec and every text: reading never escapes, bytes come back, the digest follows the meaning."""

import dataclasses
import io
import types
from collections.abc import Mapping
from enum import EnumMeta
from pathlib import Path
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from metalwright.codec.annotations import bare
from metalwright.codec.site_folder import read_site
from metalwright.codec.spec_codec import spec_digest, spec_from_bytes, spec_to_bytes
from metalwright.codec.yaml_tree import read_yaml
from metalwright.model.errors import InvariantError, SpecError
from metalwright.model.spec import StoredSpec
from tests.fast.codec.small_site import CABLES, FILES, NODES, PACKING, SITE, write_site

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IN_FOLDER = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def values_of(shape: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one return per kind of annotation
    """Any value of an annotation of the model."""
    if get_origin(shape) in (Union, types.UnionType):
        return st.one_of([st.none() if one is type(None) else values_of(one) for one in get_args(shape)])
    shape = bare(shape)
    shape = shape.__supertype__ if isinstance(shape, NewType) else shape
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=2)
    if dataclasses.is_dataclass(shape):
        hints = get_type_hints(shape, include_extras=True)
        return st.builds(shape, **{name: values_of(hint) for name, hint in hints.items()})
    if isinstance(shape, EnumMeta):
        return st.sampled_from(list(shape))
    simple: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**62), 2**62),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        str: TEXT,
    }
    return simple[shape]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(values_of(StoredSpec))
def test_bytes_come_back(stored: StoredSpec) -> None:
    """Whatever the store is given, it gives back: equal, and equal bytes again."""
    data = spec_to_bytes(stored)
    assert spec_from_bytes(data) == stored
    assert spec_to_bytes(spec_from_bytes(data)) == data


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"digest": 1}', b"\xff"])
def test_other_bytes_are_our_bug(data: bytes) -> None:
    """What is no stored spec is an InvariantError, with a hint, never something half read."""
    with pytest.raises(InvariantError):
        spec_from_bytes(data)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab:-?[]{}&*!|>'\"%@`#,. \n\t\\01~<=\x00\x85\u2028é"), max_size=40))
def test_no_text_escapes_the_yaml_reader(text: str) -> None:
    """Any text is data or problems with a line and a hint; never an exception."""
    tree = read_yaml(text)
    assert all(problem.message and problem.hint for problem in tree.problems)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT.filter(bool), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(PLAIN)
def test_data_reads_as_another_yaml_reader_reads_it(data: Any) -> None:
    """Where our subset accepts a document, the data is what ruamel's own YAML 1.2 loader makes of it."""
    text = io.StringIO()
    YAML(typ="safe", pure=True).dump(data, text)
    tree = read_yaml(text.getvalue())
    if not tree.problems:
        assert tree.value == YAML(typ="safe", pure=True).load(text.getvalue())


@IN_FOLDER
@given(name=st.sampled_from(sorted(FILES)), data=st.data())
def test_a_damaged_folder_reads_or_says_why(name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any cut and any paste in any file: a spec, or a SpecError whose problems have words and hints."""
    text = FILES[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    paste = data.draw(
        st.sampled_from(["", "x", ":", "\n", "- ", "{", "null", '"', ",", "=", "\t", "0x1", "[[", "&a ", "é", "\x00", "1e400"])
    )
    folder = write_site(tmp_path_factory.mktemp("site"), {name: text[:start] + paste + text[end:]})
    try:
        read_site(folder)
    except SpecError as error:
        assert all(problem.message and problem.hint and problem.file.startswith(str(folder)) for problem in error.problems)


def _digest(folder: Path, changes: Mapping[str, str]) -> str:
    folder.mkdir()
    return read_site(write_site(folder, changes)).digest


def test_the_digest_ignores_what_means_nothing(tmp_path: Path) -> None:
    """Comments, spacing, quotes, the order of keys and where a line of the packing list stands change no digest."""
    same = {
        "comment": {"site.yaml": "# ours\n" + SITE.replace("metalwright: 1\n", "metalwright: 1   # shape\n\n")},
        "order": {"site.yaml": SITE.replace("metalwright: 1\n", "") + "metalwright: 1\n"},
        "spacing": {"site.yaml": SITE.replace("{name: A, kw: 22}", "{ kw: 22.0,  name: 'A' }")},
        "rows": {"packing.csv": "# from the vendor\n\n" + PACKING},
    }
    found = {name: _digest(tmp_path / name, changes) for name, changes in same.items()}
    assert set(found.values()) == {_digest(tmp_path / "base", {})}


def test_the_digest_follows_the_meaning(tmp_path: Path) -> None:
    """Any changed value, in any file, is another digest."""
    changed = [
        {"site.yaml": SITE.replace("kw: 22.5", "kw: 22.6")},
        {"site.yaml": SITE.replace("soak: 12h", "soak: 11h")},
        {"site.yaml": SITE.replace("count: 4", "count: 5")},
        {"site.yaml": SITE.replace("NPS1", "NPS4")},
        {"nodes.csv": NODES.replace("MW0002", "MW0003"), "packing.csv": PACKING.replace("MW0002", "MW0003")},
        {"packing.csv": PACKING.replace("1650001", "1650002")},
        {"cables.csv": CABLES.replace(",5\n", ",6\n")},
        {"images/trainer.yaml": FILES["images/trainer.yaml"].replace("chrony", "openssh-server")},
    ]
    found = [_digest(tmp_path / str(index), changes) for index, changes in enumerate([{}, *changed])]
    assert len(set(found)) == len(changed) + 1


def test_the_digest_depends_on_the_resolved_profile(tmp_path: Path) -> None:
    """An upgrade that brings a corrected library profile is another digest: what was judged is named exactly."""
    stored = read_site(write_site(tmp_path))
    newer = {name: dataclasses.replace(profile, version=profile.version + 1) for name, profile in stored.profiles.items()}
    assert spec_digest(stored.spec, stored.profiles) == stored.digest
    assert spec_digest(stored.spec, newer) != stored.digest
