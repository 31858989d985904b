"""Depth: who does a step. What people say lets a step begin or names who did it; only a proof ends it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.model.case import NodeCase
from metalwright.model.ids import OrderNumber
from metalwright.model.judgement import Gate
from metalwright.model.observation import Kind, Witness
from metalwright.model.spec import CableSpec, Depth
from metalwright.model.work import BootInstalled, BootRamDisk, Confirmation, StepState, Wait, WriteImage
from metalwright.planner.by_hand import OPEN_S
from metalwright.planner.decide import decide
from metalwright.planner.decision import Act, Rest
from metalwright.planner.sheets import Turn, sheet_of
from tests.fast.gates.cases import IMAGE, NOW, RAM, SERIAL, seeing
from tests.fast.planner.test_decide import in_ram, ordered, racked, run

RAM_STEP = BootRamDisk(serial=SERIAL)
WRITE = WriteImage(serial=SERIAL, disk_serial="BOOT0001", image="trainer@2026.11", image_digest=IMAGE)
INSTALLED = BootInstalled(serial=SERIAL, disk_serial="BOOT0001", image_digest=IMAGE)
BY_HAND = {"power": "on", "last_reset_at": "t1", "boot_ids": "", "by": "hands"}
WHO = "technician@example.org"


def at(depth: Depth, node: NodeCase) -> NodeCase:
    """The same node where this depth holds for all of provision."""
    return replace(node, spec=replace(node.spec, depth={"provision": depth}))


def said(node: NodeCase, says: str, *, step: int = 0, attempt: int = 1, ago_s: float = 10) -> NodeCase:
    word = Confirmation(order=OrderNumber(3), step=step, attempt=attempt, says=says, by=WHO, at=NOW - ago_s)  # type: ignore[arg-type]
    return replace(node, confirmations=(*node.confirmations, word))


def in_hand(**more: object) -> NodeCase:
    """A manual boot that a technician was asked to do 50 s ago."""
    return at(Depth.MANUAL, ordered(racked(), RAM_STEP, runs=(run(StepState.INTENDED, baseline=BY_HAND, **more),)))


def booted(node: NodeCase) -> NodeCase:
    """The RAM disk checked in with the order's token, 5 s ago."""
    seen = replace(RAM, boot_id="new", token_order=OrderNumber(3), claimed_at=NOW - 6, last_contact_at=NOW - 5)
    return seeing(node, Kind.AGENT_BOOT, Witness.RAM_DISK, seen, age_s=5)


def test_assisted_begins_on_a_word() -> None:
    """metalwright proposes and touches nothing, wants not even a permit, until somebody confirms; then it acts."""
    asked = at(Depth.ASSISTED, ordered(racked(), RAM_STEP, permit=False))
    decision = decide(asked)
    assert isinstance(decision.action, Rest) and decision.run is None and decision.reason is not None
    assert decision.reason.wait is Wait.PERSON and "metalwright work confirm 3" in decision.reason.text
    assert isinstance(decide(said(at(Depth.ASSISTED, ordered(racked(), RAM_STEP)), "go")).action, Act)


def test_one_word_is_for_the_whole_assisted_order() -> None:
    """Confirmed at its first step, an assisted order runs to its end."""
    third = ordered(in_ram(), RAM_STEP, WRITE, INSTALLED, goal=Gate.OS, runs=(run(StepState.PROVEN), run(StepState.PROVEN, index=1)))
    assert isinstance(decide(said(at(Depth.ASSISTED, third), "go", step=0)).action, Act)


def test_manual_leaves_the_boot_to_a_person() -> None:
    """The intent and a boot token that waits a week are committed; the BMC is not touched."""
    decision = decide(at(Depth.MANUAL, ordered(racked(), RAM_STEP)))
    assert isinstance(decision.action, Rest) and decision.run is not None and decision.run.baseline["by"] == "hands"
    assert decision.grants[0].expires_at >= NOW + OPEN_S
    assert decision.reason is not None and "work order 3 by hand" in decision.reason.text


def test_manual_image_needs_a_word_of_its_own() -> None:
    """The drive is checked by a person at each image write: a word about another step does not begin it; its own does."""
    write = at(Depth.MANUAL, ordered(in_ram(), WRITE, INSTALLED, goal=Gate.OS))
    assert decide(said(write, "go", step=1)).run is None
    begun = decide(said(write, "go", step=0))
    assert begun.run is not None and isinstance(begun.action, Act)


def test_a_word_proves_nothing() -> None:
    """Said to be done and not seen: the proof is awaited, and after the step's deadline the attempt has failed."""
    decision = decide(said(in_hand(), "done"))
    assert decision.run is None and decision.reason is not None and decision.reason.wait is Wait.RAM_DISK
    late = decide(said(in_hand(ago_s=4000), "done", ago_s=2000))
    assert late.run is not None and late.run.state is StepState.FAILED and WHO in late.run.detail


def test_seen_done_waits_for_who_did_it() -> None:
    """The proof alone does not say whose hands it was: the step ends with both, and names the person."""
    seen = booted(in_hand())
    waiting = decide(seen)
    assert waiting.run is None and waiting.reason is not None and "metalwright work done 3" in waiting.reason.text
    done = decide(said(seen, "done"))
    assert done.run is not None and done.run.state is StepState.PROVEN and WHO in done.run.detail and done.order_done


@pytest.mark.parametrize("word", [{"attempt": 2}, {"step": 1}, {"ago_s": 60}], ids=str)
def test_a_word_about_something_else_does_not_count(word: dict[str, float]) -> None:
    """Another attempt, another step, or said before this attempt was asked for."""
    assert decide(said(booted(in_hand()), "done", **word)).run is None  # type: ignore[arg-type]


def test_a_depth_changed_in_the_middle_takes_over() -> None:
    """Made automatic while a technician was asked: the attempt ends, and the next one is metalwright's."""
    taken = decide(at(Depth.AUTOMATIC, in_hand()))
    assert taken.run is not None and taken.run.state is StepState.FAILED and not taken.run.needs_person
    after = replace(at(Depth.AUTOMATIC, in_hand()), runs=(replace(taken.run, retry_at=NOW - 1, ended_at=NOW - 60),))
    again = decide(after)
    assert isinstance(again.action, Act) and again.run is not None and again.run.attempt == 2 and "by" not in again.run.baseline


@settings(deadline=None, max_examples=25)
@given(depth=st.sampled_from(Depth), after=st.sampled_from(Depth), words=st.lists(st.sampled_from(("go", "done")), max_size=3))
def test_no_depth_and_no_word_skips_a_gate_or_a_proof(depth: Depth, after: Depth, words: list[str]) -> None:
    """At every depth, before and after a change, the gates judged and their colours are the same, and no step is proven unseen."""
    for node in (ordered(racked(), RAM_STEP), in_hand(), ordered(in_ram(), WRITE, INSTALLED, goal=Gate.OS)):
        plain = decide(at(Depth.AUTOMATIC, node))
        for now in (depth, after):
            spoken = at(now, node)
            for word in words:
                spoken = said(spoken, word)
            decision = decide(spoken)
            assert decision.verdicts == plain.verdicts
            assert decision.run is None or decision.run.state is not StepState.PROVEN


def test_the_sheet_says_what_where_why_and_how_it_is_checked() -> None:
    """A technician finds rack, unit, serial, the cables from this end, the caution, and the command to say it is done."""
    cable = CableSpec(label="C-0001", a_device="leaf01", a_port="3", b_device="atlas01", b_port="nic0", fabric="compute")
    node = in_hand()
    sheet = sheet_of(replace(node, spec=replace(node.spec, cables=(cable,))))
    assert sheet is not None and sheet.turn is Turn.DO and (sheet.rack, sheet.unit, sheet.serial) == ("r01", 10, SERIAL)
    assert (sheet.cables[0].a_port, sheet.cables[0].b_device, sheet.cables[0].b_port) == ("nic0", "leaf01", "3")
    assert SERIAL in sheet.do[1] and sheet.caution and sheet.why and sheet.check
    assert sheet.command == "metalwright work done 3 --by NAME"


def test_whose_turn_it_is() -> None:
    """confirm → (metalwright) or do → say or proof; nobody's sheet while metalwright works."""
    turns = {
        Turn.CONFIRM: at(Depth.MANUAL, ordered(in_ram(), WRITE, goal=Gate.OS)),
        Turn.DO: in_hand(),
        Turn.SAY: booted(in_hand()),
        Turn.PROOF: said(in_hand(), "done"),
    }
    for turn, node in turns.items():
        sheet = sheet_of(node)
        assert sheet is not None and sheet.turn is turn
    assert sheet_of(ordered(racked(), RAM_STEP)) is None
