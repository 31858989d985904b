"""When `apply` may end: not while a node is still looked at, and not before this run has itself waited."""

import pytest

from metalwright.model.ids import Subject
from metalwright.model.judgement import Gate
from metalwright.model.work import EXPECTED_S, Wait, WaitingFor
from metalwright.ports import BoardRow
from metalwright.service.apply import is_at_rest

OPEN = {Gate.INVENTORY: "green", Gate.FIRMWARE: "waived", Gate.OS: "green"}
LONG_S = max(seconds for seconds in EXPECTED_S.values() if seconds != float("inf")) + 1


def row(colours: dict[Gate, str], waiting: WaitingFor | None = None) -> BoardRow:
    return BoardRow(subject=Subject("node:a"), shard="r", colours=colours, order=None, waiting=waiting, operation=None)


@pytest.mark.parametrize("gate", list(OPEN))
@pytest.mark.parametrize("colour", ["undetermined", "red", None])
def test_a_node_is_not_done_while_any_gate_on_its_way_is_not_open(gate: Gate, colour: str | None) -> None:
    """An `os` that was green a while ago ends nothing while `inventory` is looked at again; gates behind `until` do not count."""
    colours = {key: value for key, value in {**OPEN, gate: colour}.items() if value is not None}
    assert not is_at_rest(row(colours), Gate.OS, LONG_S)
    assert is_at_rest(row(colours), Gate.INVENTORY, LONG_S) is (gate is not Gate.INVENTORY)


def test_what_needs_a_person_ends_it_at_once_and_the_overdue_after_its_time() -> None:
    """A wait that was overdue before this run began gets its whole time again."""
    person = WaitingFor(wait=Wait.PERSON, text="", since=0.0)
    overdue = WaitingFor(wait=Wait.BMC, text="", since=0.0, overdue=True)
    assert is_at_rest(row(OPEN), Gate.OS, 0.0) and is_at_rest(row({}, person), Gate.OS, 0.0)
    assert not is_at_rest(row({}, overdue), Gate.OS, 1.0)
    assert is_at_rest(row({}, overdue), Gate.OS, EXPECTED_S[Wait.BMC] + 1)
