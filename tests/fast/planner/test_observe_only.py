"""A delivered site is judged and never touched, whatever its state is."""

from dataclasses import replace

import pytest

from metalwright.gates.due import needs_of
from metalwright.model.case import NodeCase
from metalwright.model.judgement import Gate
from metalwright.model.observation import Kind, Witness
from metalwright.model.work import BootRamDisk, StepState, Wait
from metalwright.planner.decide import decide
from metalwright.planner.decision import Act
from tests.fast.gates.cases import SERIAL, with_bmc, without
from tests.fast.planner.test_decide import case, in_ram, ordered, racked, run

STEP = BootRamDisk(serial=SERIAL)
NODES = {
    "healthy": case(),
    "racked": racked(),
    "unseen": without(racked(), Kind.BMC_POWER, Kind.BMC_HARDWARE),
    "red": with_bmc(in_ram(), gpus=()),
    "in RAM": in_ram(),
    "ordered": ordered(racked(), STEP),
    "in flight": ordered(racked(), STEP, runs=(run(StepState.INTENDED),)),
    "failed": ordered(racked(), STEP, runs=(run(StepState.FAILED),)),
}


def observed(node: NodeCase) -> NodeCase:
    return replace(node, observe_only=True)


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_nothing_is_ordered_begun_granted_or_cancelled(node: NodeCase) -> None:
    """Only looks, in every state, also where an order of an earlier apply is open."""
    decision = decide(observed(node))
    assert decision.order is None and decision.run is None and decision.operation is None and decision.cancel is None
    assert not decision.grants and not isinstance(decision.action, Act)


def test_every_gate_is_judged_and_the_node_rests() -> None:
    """A gate that is not open hides none after it; what is missing is for a person."""
    decision = decide(observed(with_bmc(in_ram(), gpus=())))
    assert set(decision.verdicts) == {Gate.INVENTORY, Gate.FIRMWARE, Gate.OS}
    assert decision.reason is not None and decision.reason.wait is Wait.PERSON and "only observed: inventory red" in decision.reason.text


def test_the_inventory_of_the_bmc_is_read_without_any_boot_of_ours() -> None:
    """An agent may never come: the BMC's inventory is due at once."""
    kinds = {(need.kind, need.witness) for need in needs_of(Gate.INVENTORY, observed(racked()))}
    assert (Kind.BMC_HARDWARE, Witness.OUT_OF_BAND) in kinds
