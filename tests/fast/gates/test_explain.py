"""Explaining checks, the thresholds' data, and the generated document."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from metalwright.codec.thresholds import library, parse
from metalwright.gates.explain import as_text, explain
from metalwright.gates.readings.registry import READING_CHECKS
from metalwright.gates.registry import CHECKS, SITE_CHECKS
from metalwright.gates.table import render
from metalwright.model.errors import InputError, InvariantError
from metalwright.model.judgement import Result
from metalwright.model.observation import Kind
from metalwright.model.spec import HardwareProfile, NicSpec, ProfileSpec
from tests.fast.gates.cases import SPEC, bmc_facts, healthy, site, unreadable, with_bmc

EVERY = (*SITE_CHECKS, *CHECKS)


@pytest.mark.parametrize("check", EVERY, ids=lambda check: check.id)
def test_every_check_explains_itself(check: object) -> None:
    """Rule, source and numbers are there without a site, result and witnesses with one."""
    plain = explain(check.id)  # type: ignore[attr-defined]
    assert plain.rule.endswith(".")
    assert plain.source
    assert plain.title
    case = site() if check in SITE_CHECKS else healthy()
    told = explain(check.id, case)  # type: ignore[attr-defined]
    assert told.findings
    assert told.findings[0].result is Result.PASS
    assert told.rule in as_text(told)
    assert len(as_text(told).splitlines()) >= 4


def test_an_explanation_says_rule_number_source_seen_witness_and_what_to_do() -> None:
    """The story of one red link, as a person reads it."""
    links = list(bmc_facts().nvlinks)
    links[83] = replace(links[83], state="down")
    text = as_text(explain("inventory.nvlinks", with_bmc(healthy(), nvlinks=tuple(links))))
    assert "nvlinks_per_gpu = 18 (profile hgx-h100-8 v1: vendor datasheet, 2026-11-30)" in text
    assert "nvlink.speed-tolerance = 5 permille" in text
    assert "fail on node:atlas01/gpu:5" in text
    assert "seen by the BMC 60 s ago" in text
    assert "reseat" in text


def test_a_number_that_the_site_changed_shows_its_trail() -> None:
    """An override is never silent."""
    spec = replace(SPEC, profiles={"compute": ProfileSpec(base="hgx-h100-8", nics=NicSpec(count=8, rate_gbps=400))})
    numbers = {number.name: number for number in explain("inventory.nics", healthy(spec=spec)).numbers}
    assert "profiles.compute in site.yaml" in numbers["nics"].trail
    assert explain("inventory.cpus", healthy(spec=spec)).numbers[0].trail == ""


def test_a_look_that_does_not_count_is_named_with_its_reason() -> None:
    """The witness that failed is shown beside the ones that count."""
    told = explain("inventory.bmc-answers", unreadable(healthy(), Kind.BMC_POWER, "unauthorized"))
    assert any("does not count: the BMC refused our account" in witness for witness in told.witnesses)


def test_an_unknown_check_suggests_the_nearest() -> None:
    """A typing error is answered with what was meant."""
    with pytest.raises(InputError) as caught:
        explain("inventory.gpu")
    assert "inventory.gpus" in caught.value.hint
    with pytest.raises(InputError):
        explain("plan.power", healthy())
    with pytest.raises(InputError):
        explain("inventory.gpus", site())


def test_numbers_named_by_checks_exist() -> None:
    """Thresholds and profile numbers are names of real data, and no threshold is unused."""
    names = {field.name for field in fields(HardwareProfile)}
    assert {name for check in CHECKS for name in check.profile} <= names
    assert {name for check in (*EVERY, *READING_CHECKS) for name in check.thresholds} == set(library())


@pytest.mark.parametrize(
    "text",
    [
        "- {name: a, value: 1, unit: s, source: x, date: 2026-12-01}\n- {name: a, value: 2, unit: s, source: x, date: 2026-12-01}\n",
        "- {name: a, value: 1}\n",
        "- {name: a, value: 1.5, unit: s, source: x, date: 2026-12-01}\n",
        "a: [",
        "nothing",
        "",
    ],
)
def test_damaged_threshold_data_is_refused(text: str) -> None:
    """Half a threshold never judges anything."""
    with pytest.raises(InvariantError):
        parse(text)


def test_every_threshold_has_unit_source_and_date() -> None:
    """A number without a source is an opinion."""
    for found in library().values():
        assert found.unit
        assert found.source
        assert len(found.date) == 10
        assert found.why


def test_the_document_of_checks_is_current() -> None:
    """docs/checks.md is what the registry says today."""
    written = Path(__file__).parents[3] / "docs" / "checks.md"
    how = "PYTHONPATH=src python -c 'import metalwright.gates.table as t; print(t.render(), end=\"\")' > docs/checks.md"
    assert written.read_text(encoding="utf-8") == render(), f"regenerate it: {how}"
