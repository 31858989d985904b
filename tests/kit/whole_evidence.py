"""What must hold of a site's log, however often the processes that wrote it were killed."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from metalwright.service.records import Record
from tests.kit.simulated_site import SimulatedSite

GATES = ("inventory", "firmware", "os")


def assert_evidence_is_whole(site: SimulatedSite) -> None:
    """The bundle verifies; of every node each work order that was done and each gate's last verdict, green, is there once; no record
    says again what the one before it said."""
    report = site.verified()
    assert report.faults == () and report.unaccounted == ()
    assert {name: dict(state.gates) for name, state in report.nodes.items()} == {name: dict.fromkeys(GATES, "green") for name in site.nodes}
    records = site.records()
    assert [record.index for record in records] == list(range(len(records)))
    assert_orders_once(site, records)
    assert_nothing_said_twice(records)


def assert_orders_once(site: SimulatedSite, records: list[Record]) -> None:
    """Done in the store and recorded as done is the same set."""
    whole = [record.statement["predicate"] for record in records if record.kind == "work" and "steps" in record.statement["predicate"]]
    done = Counter(predicate["work_order"] for predicate in whole)
    assert done == Counter(site.orders_done()), "a work order was recorded twice, or not at all"


def assert_nothing_said_twice(records: list[Record]) -> None:
    """A gate is recorded when its verdict or its findings change, and only then."""
    said: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        if record.kind == "gate":
            predicate = record.statement["predicate"]
            said[str(record.about), predicate["gate"]].append({key: predicate[key] for key in ("verdict", "findings")})
    for (about, gate), verdicts in said.items():
        doubled = [new for old, new in pairwise(verdicts) if old == new]
        assert not doubled, f"gate {gate} of {about} was recorded twice with the same findings"
