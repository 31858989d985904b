"""Two clocks: what a node's time was spent on before anybody used it, and after."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.cli.clocks import duration
from metalwright.evidence.records import Record
from metalwright.model.ids import Subject
from metalwright.model.judgement import Gate
from metalwright.service.clocks import ROUTE, NodeClocks, clocks

T = 1_800_000_000.0


def gate(at: float, name: str, colour: str, about: str = "node:a1") -> Record:
    predicate = {"gate": name, "verdict": colour, "made_at_ms": round((T + at) * 1000)}
    return Record(index=0, kind="gate", about=Subject(about), says="", logged_at=T + at, statement={"predicate": predicate})


def of(records: list[Record], now: float) -> NodeClocks:
    return clocks(records, ["a1"], T + now)[0]


PLAN = gate(0, "plan", "green", "site:s")
LIVE = [PLAN, *(gate(100 * n, name, "green") for n, name in enumerate(ROUTE[1:], start=1))]
"""In service after 700 s: 100 s at each gate."""


def test_time_is_booked_to_the_first_gate_that_is_not_open() -> None:
    """Planning until the plan gate opens, then gate by gate; the present one runs on."""
    found = of([gate(0, "plan", "red", "site:s"), gate(50, "plan", "green", "site:s"), gate(80, "inventory", "green")], 200)
    assert (found.at, found.in_service) == (Gate.FIRMWARE, False)
    assert found.before_s == {Gate.PLAN: 50.0, Gate.INVENTORY: 30.0, Gate.FIRMWARE: 120.0} and not found.after_s


def test_undetermined_moves_no_clock() -> None:
    """Nobody could look for a while: the node is where it was."""
    assert of([PLAN, gate(10, "inventory", "green"), gate(20, "inventory", "undetermined")], 40).at is Gate.FIRMWARE


def test_a_node_that_goes_back_after_service_is_on_the_second_clock() -> None:
    """The calendar before users ends once; a regression counts as time out of service, at its gate."""
    found = of([*LIVE, gate(1000, "os", "red"), gate(1060, "os", "waived")], 2000)
    assert found.in_service and sum(found.before_s.values()) == pytest.approx(700)
    assert found.after_s == {Gate.SERVICE: pytest.approx(300 + 940), Gate.OS: pytest.approx(60)}


def test_another_node_and_another_kind_change_nothing() -> None:
    """Only a node's own gates and the site's."""
    noise = [gate(5, "inventory", "green", "node:a2"), gate(6, "future-gate", "red")]
    assert of([PLAN, *noise], 10).before_s == of([PLAN], 10).before_s


@given(st.lists(st.tuples(st.integers(0, 900), st.sampled_from(ROUTE), st.sampled_from(["green", "red", "undetermined", "waived"]))))
def test_no_second_is_lost_or_counted_twice(events: list[tuple[int, Gate, str]]) -> None:
    """Both clocks together are the time since the first record, whatever happened."""
    found = of([PLAN, *(gate(at, name, colour) for at, name, colour in events)], 1000)
    assert sum(found.before_s.values()) + sum(found.after_s.values()) == pytest.approx(1000)


def test_a_site_without_records_has_no_time() -> None:
    """Nothing was begun, so nothing is late."""
    assert sum(of([], 500).before_s.values()) == 0


def test_durations_are_short() -> None:
    """Two units at most."""
    assert [duration(seconds) for seconds in (4, 432, 7500, 277_200)] == ["4 s", "7 min 12 s", "2 h 05 min", "3 d 5 h"]
