"""The planner decides from a case alone: what it orders, what it awaits, when it stops."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from metalwright.model.case import NodeCase
from metalwright.model.hardware import BootTarget, PcieLink, PowerState
from metalwright.model.ids import Digest, OperationId, OrderNumber, Subject, node_subject
from metalwright.model.judgement import Colour, Gate, GateVerdict
from metalwright.model.observation import BootSeen, Kind, PowerSeen, Witness
from metalwright.model.work import (
    BootInstalled,
    BootRamDisk,
    Operation,
    OperationState,
    OrderBody,
    Permit,
    SitePlan,
    Step,
    StepRun,
    StepState,
    Wait,
    WorkOrder,
    WriteImage,
)
from metalwright.planner import provisioning, step
from metalwright.planner.decide import decide, is_converged
from metalwright.planner.decision import Act, Look, Rest
from tests.fast.gates.cases import (
    INSTALLED,
    NODE,
    NOW,
    RAM,
    SERIAL,
    WRITTEN,
    aged,
    bmc_facts,
    healthy,
    look,
    seeing,
    unreadable,
    with_bmc,
    without,
)

PLAN = SitePlan(number=1, parent=None, spec_digest=Digest("sha256:01"), until=Gate.OS, max_disrupted=4, made_at=NOW)
OPEN = GateVerdict(gate=Gate.PLAN, subject=Subject("site:atlas"), colour=Colour.GREEN, findings=())
AGENT_KINDS = (Kind.AGENT_BOOT, Kind.AGENT_HARDWARE, Kind.DISK_IMAGE, Kind.SYSTEM_IMAGE, Kind.BOOT_CLAIMS)


def case(**more: object) -> NodeCase:
    """Healthy, and every GPU's link as the firmware trained it."""
    trained = tuple(replace(gpu, pcie=PcieLink(generation=5, width=16, max_generation=5, max_width=16)) for gpu in bmc_facts().gpus)
    healthy_case = with_bmc(healthy(site_plan=PLAN, site_verdict=OPEN, **more), gpus=trained)
    return aged(aged(healthy_case, Kind.BMC_POWER, 5), Kind.BMC_HARDWARE, 4)


def racked(**more: object) -> NodeCase:
    """A node that was just racked: its BMC answers, nothing was ever booted."""
    return without(case(**more), *AGENT_KINDS)


def in_ram(**more: object) -> NodeCase:
    """A node whose RAM disk is up, with its inventory read."""
    bare = without(case(**more), Kind.DISK_IMAGE, Kind.SYSTEM_IMAGE, Kind.AGENT_BOOT)
    return seeing(bare, Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, last_contact_at=NOW - 5), age_s=5)


def ordered(node: NodeCase, *steps: Step, goal: Gate = Gate.INVENTORY, permit: bool = True, **more: object) -> NodeCase:
    body = OrderBody(subject=node_subject(NODE.name), goal=goal, wish_digest=node.wish_digest, round=1, steps=steps, reason="test")
    order = WorkOrder(number=OrderNumber(3), parent=None, site_plan=1, digest=Digest("sha256:03"), made_at=NOW - 100, body=body)
    granted = Permit(subject=node_subject(NODE.name), order=OrderNumber(3), domains=(), watts=0, expires_at=NOW + 100) if permit else None
    return replace(node, order=order, permit=granted, **more)


def run(state: StepState, *, index: int = 0, attempt: int = 1, ago_s: float = 50, **more: object) -> StepRun:
    baseline = {"power": "on", "last_reset_at": "t1", "boot_ids": ""}
    return StepRun(order=OrderNumber(3), index=index, attempt=attempt, state=state, began_at=NOW - ago_s, **{"baseline": baseline, **more})


def test_a_healthy_node_is_left_alone() -> None:
    """A converged node gets no order, no look that is not due, and is converged."""
    decision = decide(case())
    assert decision.order is None and isinstance(decision.action, Rest) and decision.reason is None
    assert {verdict.colour for verdict in decision.verdicts.values()} == {Colour.GREEN}
    assert is_converged(case())


def test_an_unseen_bmc_is_looked_at_first() -> None:
    """Nothing is ordered before the BMC was read."""
    decision = decide(without(racked(), Kind.BMC_POWER, Kind.BMC_HARDWARE))
    assert isinstance(decision.action, Look) and Kind.BMC_POWER in decision.action.kinds and decision.order is None


def test_a_racked_node_is_booted_into_its_ram_disk() -> None:
    """Inventory needs the in-band witness: the first order is one boot from the network."""
    decision = decide(racked())
    assert decision.order is not None and [each.kind for each in decision.order.steps] == ["boot-ram-disk"]
    assert decision.order.goal is Gate.INVENTORY and decision.order.round == 1


def test_a_node_in_ram_gets_its_image() -> None:
    """With the inventory green and the agent alive the order is write, then boot; the disk is named by its serial."""
    decision = decide(in_ram())
    assert decision.order is not None and [each.kind for each in decision.order.steps] == ["write-image", "boot-installed"]
    write = decision.order.steps[0]
    assert isinstance(write, WriteImage) and write.disk_serial == "BOOT0001" and write.serial == SERIAL


def test_a_silent_ram_disk_is_booted_again_before_the_write() -> None:
    """An agent that has not spoken for 90 s is not relied on."""
    silent = seeing(in_ram(), Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, last_contact_at=NOW - 200), age_s=200)
    decision = decide(silent)
    assert decision.order is not None and decision.order.steps[0].kind == "boot-ram-disk"


def test_until_stops_there() -> None:
    """`--until inventory` orders nothing beyond a green inventory."""
    decision = decide(replace(in_ram(), site_plan=replace(PLAN, until=Gate.INVENTORY)))
    assert decision.order is None and decision.reason is None


def test_a_red_gate_is_for_a_person() -> None:
    """A red inventory orders nothing and says what is wrong."""
    decision = decide(with_bmc(in_ram(), gpus=()))
    assert decision.order is None and decision.reason is not None and decision.reason.wait is Wait.PERSON
    assert "inventory" in decision.reason.text


def test_a_closed_plan_gate_holds_every_node() -> None:
    """Nothing is booted while the site's plan gate is not open."""
    decision = decide(replace(racked(), site_verdict=None))
    assert decision.order is None and decision.reason is not None and decision.reason.wait is Wait.SITE


def test_no_permit_no_step() -> None:
    """A disruptive step waits for its permit, and no run is recorded."""
    decision = decide(ordered(racked(), BootRamDisk(serial=SERIAL), permit=False))
    assert decision.run is None and decision.reason is not None and decision.reason.wait is Wait.PERMIT


def test_the_intent_comes_with_a_baseline_and_a_grant() -> None:
    """A boot begins with a run that records what was before, a boot grant for this attempt, and only then the act."""
    decision = decide(ordered(racked(), BootRamDisk(serial=SERIAL), epoch=7))
    assert isinstance(decision.action, Act) and decision.run is not None and decision.run.state is StepState.INTENDED
    assert decision.run.baseline["last_reset_at"] == "t1" and decision.run.epoch == 7
    assert [grant.id for grant in decision.grants] == ["3/0/1"]


def test_a_write_orders_one_operation() -> None:
    """The operation has the attempt's id, this worker's generation, and a token for the system that will boot."""
    write = WriteImage(serial=SERIAL, disk_serial="BOOT0001", image="trainer@2026.11", image_digest="sha256:" + "ab" * 32)
    decision = decide(ordered(in_ram(), write, goal=Gate.OS, epoch=7))
    assert decision.operation is not None and decision.operation.id == "3/0/1" and decision.operation.generation == 7
    assert [grant.stage for grant in decision.grants] == ["installed"]


def test_nothing_is_written_while_the_inventory_gate_is_not_open() -> None:
    """The identity rule at the moment of writing: a BMC that cannot be read now holds the write."""
    write = WriteImage(serial=SERIAL, disk_serial="BOOT0001", image="trainer@2026.11", image_digest="sha256:" + "ab" * 32)
    decision = decide(ordered(unreadable(in_ram(), Kind.BMC_HARDWARE), write, goal=Gate.OS))
    assert decision.run is None and decision.operation is None


def test_a_started_boot_is_proven_by_the_agent() -> None:
    """The agent's check-in of this order, newer than the run, proves the step and gives the permit back."""
    booted = seeing(racked(), Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, token_order=OrderNumber(3), claimed_at=NOW - 5), age_s=5)
    decision = decide(ordered(booted, BootRamDisk(serial=SERIAL), runs=(run(StepState.STARTED),)))
    assert decision.run is not None and decision.run.state is StepState.PROVEN and decision.order_done


def test_a_reset_that_did_nothing_fails_early() -> None:
    """A BMC that accepted a reset and shows the old last reset time a minute later lied: the attempt fails, with words."""
    lying = PowerSeen(power=PowerState.ON, boot_target=BootTarget.NETWORK, boot_once=True, identity_serial=SERIAL, last_reset_at="t1")
    seen = seeing(racked(), Kind.BMC_POWER, Witness.OUT_OF_BAND, lying, age_s=5)
    decision = decide(ordered(seen, BootRamDisk(serial=SERIAL), runs=(run(StepState.STARTED, ago_s=90),)))
    assert decision.run is not None and decision.run.state is StepState.FAILED and "accepted the reset" in decision.run.detail


def test_a_baseline_is_newer_than_the_last_act() -> None:
    """The power look that tells this reset from earlier ones was made after the last step ended and after the order was made."""
    write, boot = WriteImage(serial=SERIAL, disk_serial="BOOT0001"), BootInstalled(serial=SERIAL, disk_serial="BOOT0001")
    for ended_s, is_old in ((3, True), (10, False)):
        done = run(StepState.PROVEN, ago_s=60, ended_at=NOW - ended_s)
        decision = decide(ordered(in_ram(), write, boot, goal=Gate.OS, runs=(done,)))
        assert (decision.action == Look(kinds=(Kind.BMC_POWER,))) is is_old
        assert isinstance(decision.action, Act) is not is_old
    first = ordered(racked(), BootRamDisk(serial=SERIAL))
    fresh_order = replace(first, order=replace(first.order, made_at=NOW - 1)) if first.order else first
    assert decide(fresh_order).action == Look(kinds=(Kind.BMC_POWER,))


def test_an_overdue_step_fails_and_is_tried_again() -> None:
    """Not proven within its deadline is a failed attempt; the next one comes after a pause."""
    late = ordered(racked(), BootRamDisk(serial=SERIAL), runs=(run(StepState.STARTED, ago_s=901),))
    failed = decide(late).run
    assert failed is not None and failed.state is StepState.FAILED and not failed.needs_person
    again = decide(replace(late, runs=(replace(failed, ended_at=NOW - 10, retry_at=NOW - 1),)))
    assert again.run is not None and again.run.attempt == 2


def test_three_failed_attempts_are_for_a_person_until_retried() -> None:
    """The third failure holds; `node retry` lifts it and a new order is made."""
    third = run(StepState.STARTED, attempt=3, ago_s=901)
    held = decide(ordered(racked(), BootRamDisk(serial=SERIAL), runs=(third,))).run
    assert held is not None and held.needs_person
    stopped = ordered(racked(), BootRamDisk(serial=SERIAL), runs=(held,))
    waiting = decide(stopped)
    assert waiting.order is None and waiting.reason is not None and waiting.reason.wait is Wait.PERSON
    assert decide(replace(stopped, retry_asked_at=NOW + 1)).order is not None


def test_a_write_whose_agent_fell_silent_is_ordered_anew() -> None:
    """Mid-write silence fails the attempt; the next order begins with a boot into RAM."""
    write = WriteImage(serial=SERIAL, disk_serial="BOOT0001", image="trainer@2026.11", image_digest="sha256:" + "ab" * 32)
    silent = seeing(in_ram(), Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, last_contact_at=NOW - 200), age_s=200)
    writing = ordered(silent, write, goal=Gate.OS, runs=(run(StepState.STARTED),))
    failed = decide(writing).run
    assert failed is not None and failed.state is StepState.FAILED and not failed.needs_person
    anew = decide(replace(writing, runs=(failed,)))
    assert anew.order is not None and anew.order.steps[0].kind == "boot-ram-disk"


def test_an_image_already_on_the_disk_is_booted_not_written_again() -> None:
    """What the RAM disk's agent read back from the ordered disk need not be written twice; a red `os` gate is written anew."""
    written = seeing(in_ram(), Kind.DISK_IMAGE, Witness.RAM_DISK, WRITTEN, age_s=100)
    decision = decide(written)
    assert decision.order is not None and [each.kind for each in decision.order.steps] == ["boot-installed"]
    other = seeing(in_ram(), Kind.DISK_IMAGE, Witness.RAM_DISK, replace(WRITTEN, mismatches=1), age_s=100)
    order = decide(other).order
    assert order is not None and order.steps[0].kind == "write-image"


def test_a_silent_installed_system_is_waited_for_not_redone() -> None:
    """An `os` gate that turned undetermined after its order was finished never re-images the node."""
    done = (run(StepState.PROVEN, index=0),)
    installed = ordered(case(), WriteImage(serial=SERIAL), goal=Gate.OS, runs=done)
    silent = seeing(installed, Kind.AGENT_BOOT, Witness.RUNNING_SYSTEM, replace(INSTALLED, last_contact_at=NOW - 4000), age_s=4000)
    decision = decide(silent)
    assert decision.verdicts[Gate.OS].colour is Colour.UNDETERMINED
    assert decision.order is None and decision.reason is not None and decision.reason.wait is Wait.OBSERVATION


def test_a_repaired_node_is_looked_at_again_in_band() -> None:
    """After a red inventory, `node retry` boots the RAM disk anew: what was seen before the repair does not count."""
    red = replace(with_bmc(in_ram(), gpus=()), retry_asked_at=NOW - 1)
    decision = decide(red)
    assert decision.order is not None and [each.kind for each in decision.order.steps] == ["boot-ram-disk"]


def test_rounds_are_bounded() -> None:
    """A goal that three orders did not reach is not ordered a fourth time."""
    decision = decide(replace(in_ram(), rounds={Gate.OS: provisioning.MAX_ROUNDS}))
    assert decision.order is None and decision.reason is not None and decision.reason.wait is Wait.PERSON


def test_a_changed_wish_cancels_the_write_first() -> None:
    """A new image is not ordered over a running write: it is cancelled, and the order follows when it has stopped."""
    write = WriteImage(serial=SERIAL, disk_serial="BOOT0001", image="trainer@2026.11", image_digest="sha256:" + "ab" * 32)
    operation = Operation(
        id=OperationId("3/0/1"), subject=node_subject(NODE.name), step=write, state=OperationState.RUNNING, generation=1,
        ordered_at=NOW - 50, deadline_at=NOW + 50,
    )  # fmt: skip
    writing = ordered(in_ram(), write, goal=Gate.OS, runs=(run(StepState.STARTED),), operations=(operation,))
    changed = replace(writing, wish_digest=Digest("sha256:99"))
    assert decide(changed).cancel == "3/0/1" and decide(changed).order is None
    stopped = replace(changed, operations=(replace(operation, state=OperationState.CANCELLED),))
    assert decide(stopped).order is not None


def test_undetermined_neither_advances_nor_redoes() -> None:
    """A node in service whose BMC went mute keeps its system: no order, a look, and a reason."""
    mute = unreadable(unreadable(case(), Kind.BMC_HARDWARE), Kind.BMC_POWER)
    decision = decide(mute)
    assert decision.order is None and decision.verdicts[Gate.INVENTORY].colour is Colour.UNDETERMINED
    later = decide(replace(mute, now=NOW + 60))
    assert later.order is None and isinstance(later.action, Look)


ages = st.sampled_from([1.0, 50.0, 95.0, 1000.0, 8000.0, 700_000.0])


@given(
    missing=st.sets(st.sampled_from(list(Kind))),
    broken=st.sets(st.sampled_from(list(Kind))),
    contact=ages,
    state=st.sampled_from([None, *StepState]),
    attempt=st.integers(1, 3),
    ago=ages,
    permit=st.booleans(),
    paused=st.booleans(),
)
def test_decisions_are_a_fixed_point(
    missing: set[Kind], broken: set[Kind], contact: float, state: StepState | None, attempt: int, ago: float, permit: bool, paused: bool
) -> None:
    """From any case: the same case gives the same decision; a new order is followed, not replaced; no case raises; a write only
    begins with an open inventory gate."""
    node = in_ram(paused=paused)
    node = seeing(node, Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, last_contact_at=NOW - contact), age_s=contact)
    node = without(node, *missing)
    for kind in broken:
        node = unreadable(node, kind)
    if state is not None:
        write = WriteImage(serial=SERIAL, disk_serial="BOOT0001", image="trainer@2026.11", image_digest="sha256:" + "ab" * 32)
        node = ordered(node, write, goal=Gate.OS, permit=permit, runs=(run(state, attempt=attempt, ago_s=ago),))
    decision = decide(node)
    assert decide(node) == decision
    if decision.order is not None:
        follow = ordered(node, *decision.order.steps, goal=decision.order.goal, runs=())
        assert decide(follow).order is None
    if decision.operation is not None:
        assert decision.verdicts[Gate.INVENTORY].is_open


def test_boot_seen_before_the_run_proves_nothing() -> None:
    """An old check-in never proves a new boot."""
    old = look(Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, token_order=OrderNumber(3), claimed_at=NOW - 400), age_s=5)
    assert isinstance(old.body, BootSeen)
    node = replace(racked(), observations={**racked().observations, (Kind.AGENT_BOOT, Witness.RAM_DISK): old})
    decision = decide(ordered(node, BootRamDisk(serial=SERIAL), runs=(run(StepState.STARTED),)))
    assert decision.run is None and step.is_open(ordered(node, BootRamDisk(serial=SERIAL)))
