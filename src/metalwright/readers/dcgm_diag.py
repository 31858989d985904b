"""`dcgmi diag -j` of DCGM 3 and 4 → `DiagReport`. Text may stand before the JSON, and values may be null."""

import re
from collections.abc import Iterator
from typing import Any

from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.model.run_results import DiagReport, DiagResult, DiagWarning
from metalwright.readers.json_text import document, listing, mapping, text_of

FORMAT = "dcgmi diag -j"
ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
"""DCGM 4, DCGM 3."""


def looks_like(text: str) -> bool:
    return any(f'"{root}"' in text for root in ROOTS)


def read(text: str) -> DiagReport | Unreadable:
    """Every result of every test, per entity; a test without results is a gap."""
    whole = mapping(document(text))
    root = next((mapping(whole[name]) for name in ROOTS if isinstance(whole.get(name), dict)), None)
    if root is None:
        return Unreadable(reason="the JSON document is broken or cut off")
    results: list[DiagResult] = []
    gaps: list[Gap] = []
    for category in listing(root.get("test_categories")):
        for test in listing(mapping(category).get("tests")):
            found = list(_results(mapping(test)))
            results += found
            if not found:
                gaps.append(Gap(what="tests", why=f"test {text_of(mapping(test).get('name')) or '(no name)'} has no result"))
    error = text_of(root.get("runtime_error")) or text_of(whole.get("runtime_error"))
    if not results and not error:
        gaps.append(Gap(what="tests", why="the document holds no test"))
    meta = mapping(whole.get("metadata"))
    return DiagReport(
        version=text_of(meta.get("version")) or text_of(root.get("version")) or None,
        driver=text_of(meta.get("Driver Version Detected")) or text_of(root.get("Driver Version Detected")) or None,
        results=tuple(results),
        gpus=_gpus(whole, root),
        error=error,
        offers=frozenset(("tests",)),
        gaps=tuple(gaps[:20]),
    )


def _results(test: dict[str, Any]) -> Iterator[DiagResult]:
    name = text_of(test.get("name")) or "(no name)"
    for result in (mapping(each) for each in listing(test.get("results"))):
        warnings = tuple(_warnings(result.get("warnings")))
        for entity in _entities(result):
            yield DiagResult(test=name, entity=entity, status=text_of(result.get("status")), warnings=warnings)
    summary = mapping(test.get("test_summary"))
    if text_of(summary.get("status")):
        yield DiagResult(test=name, entity="", status=text_of(summary.get("status")), warnings=tuple(_warnings(summary.get("warnings"))))


def _entities(result: dict[str, Any]) -> list[str]:
    """DCGM 4 names group and id; DCGM 3 one GPU or a list of them in one text."""
    if "entity_id" in result:
        return [f"{text_of(result.get('entity_group')) or 'entity'} {text_of(result.get('entity_id'))}"]
    ids = re.findall(r"\d{1,4}", text_of(result.get("gpu_ids")) or text_of(result.get("gpu_id")))
    return [f"GPU {number}" for number in ids] or [""]


def _warnings(value: Any) -> Iterator[DiagWarning]:
    """A list of objects or texts, or one text."""
    for entry in listing(value) or ([value] if value else []):
        if isinstance(entry, dict):
            severity = entry.get("error_severity")
            is_number = isinstance(severity, int) and not isinstance(severity, bool)
            yield DiagWarning(text=text_of(entry.get("warning")), severity=severity if is_number else None)
        elif text_of(entry):
            yield DiagWarning(text=text_of(entry))


def _gpus(whole: dict[str, Any], root: dict[str, Any]) -> int:
    for group in (mapping(each) for each in listing(whole.get("entity_groups"))):
        if text_of(group.get("entity_group")) == "GPU":
            return len(listing(group.get("entities")))
    return len(listing(root.get("GPU Device IDs")))
