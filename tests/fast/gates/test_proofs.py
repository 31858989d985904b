"""Proofs: a step is done when a look made after it began shows it, and never otherwise."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.gates.proofs import PROOF_NEEDS, prove
from metalwright.model.case import NodeCase
from metalwright.model.ids import OperationId, Subject, node_subject
from metalwright.model.observation import BootClaimsSeen, Kind, Observation, Witness
from metalwright.model.work import (
    INTERRUPTIBLE,
    BootInstalled,
    BootRamDisk,
    Contradicted,
    NotYet,
    Operation,
    OperationState,
    Proven,
    Step,
    StepRun,
    StepState,
    WriteImage,
)
from tests.fast.gates.cases import (
    IMAGE,
    INSTALLED,
    NODE,
    NOW,
    OPERATION,
    ORDER,
    RAM,
    RAM_BOOT,
    SERIAL,
    SYSTEM_DISK,
    WRITTEN,
    healthy,
    look,
    seeing,
    waiver,
)

RAM_STEP = BootRamDisk(serial=SERIAL)
WRITE = WriteImage(serial=SERIAL, disk_serial=SYSTEM_DISK, image="trainer@2026.11", image_digest=IMAGE)
INSTALLED_STEP = BootInstalled(serial=SERIAL, disk_serial=SYSTEM_DISK, image_digest=IMAGE)
STEPS: tuple[Step, ...] = (RAM_STEP, WRITE, INSTALLED_STEP)
BEGAN = NOW - 5000


def run(step: Step, began_at: float = BEGAN, **more: str) -> StepRun:
    index = STEPS.index(step)
    return StepRun(order=ORDER, index=index, attempt=1, state=StepState.STARTED, began_at=began_at, baseline=more)


def ram_seeing(**fields: object) -> NodeCase:
    return seeing(healthy(), Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, **fields))  # type: ignore[arg-type]


def installed_seeing(**fields: object) -> NodeCase:
    return seeing(healthy(), Kind.AGENT_BOOT, Witness.RUNNING_SYSTEM, replace(INSTALLED, **fields))  # type: ignore[arg-type]


def written_seeing(**fields: object) -> NodeCase:
    return seeing(healthy(), Kind.DISK_IMAGE, Witness.RAM_DISK, replace(WRITTEN, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.kind)
def test_a_fresh_look_that_shows_it_proves_the_step(step: Step) -> None:
    """The healthy node proves all three steps, and says by what."""
    proof = prove(step, run(step), healthy())
    assert isinstance(proof, Proven), proof
    assert proof.seen


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.kind)
def test_nothing_seen_proves_nothing(step: Step) -> None:
    """Without looks there is no proof, only something awaited."""
    assert isinstance(prove(step, run(step), replace(healthy(), observations={})), NotYet)


def test_every_step_kind_declares_what_its_proof_needs() -> None:
    """The observers know what to look at for every kind of step."""
    assert set(PROOF_NEEDS) == set(INTERRUPTIBLE)
    assert all(PROOF_NEEDS.values())


@pytest.mark.parametrize(
    ("fields", "awaits"),
    [
        ({"claimed_at": BEGAN}, "to check in"),
        ({"token_order": 6}, "token of order 7"),
        ({"stage": "installed"}, "stage installed"),
        ({"system_serial": None}, "serial"),
        ({"boot_id": ""}, "new boot"),
    ],
)
def test_a_ram_boot_that_is_not_this_one_proves_nothing(fields: dict[str, object], awaits: str) -> None:
    """An earlier claim, another order's token, another stage, no serial: not yet."""
    proof = prove(RAM_STEP, run(RAM_STEP), ram_seeing(**fields))
    assert isinstance(proof, NotYet)
    assert awaits in proof.awaiting


@pytest.mark.parametrize("key", ["boot_id", "boot_ids"])
def test_a_boot_id_of_before_proves_nothing(key: str) -> None:
    """The boot that was there before the reset is no new boot."""
    assert isinstance(prove(RAM_STEP, run(RAM_STEP, **{key: f"other,{RAM_BOOT}"}), healthy()), NotYet)
    proof = prove(INSTALLED_STEP, run(INSTALLED_STEP, **{key: INSTALLED.boot_id}), healthy())
    assert isinstance(proof, NotYet)


def test_the_wrong_machine_needs_a_person() -> None:
    """Another serial behind this step's boot contradicts it, and no retry helps."""
    for step, case in ((RAM_STEP, ram_seeing(system_serial="OTHER77")), (INSTALLED_STEP, installed_seeing(system_serial="OTHER77"))):
        proof = prove(step, run(step), case)
        assert isinstance(proof, Contradicted)
        assert proof.needs_person


def test_a_second_claim_contradicts_the_boot_unless_waived() -> None:
    """Two claimants of one token: somebody else may be the agent."""
    conflict = BootClaimsSeen(claims=2, conflicts=1)
    case = seeing(healthy(), Kind.BOOT_CLAIMS, Witness.ENDPOINT, conflict)
    proof = prove(RAM_STEP, run(RAM_STEP), case)
    assert isinstance(proof, Contradicted)
    assert proof.needs_person
    assert isinstance(prove(RAM_STEP, run(RAM_STEP), seeing(healthy(), Kind.BOOT_CLAIMS, Witness.ENDPOINT, conflict, 5001)), Proven)
    waived = replace(case, waivers=(waiver("inventory.boot-claims", node_subject(NODE.name)),))
    assert isinstance(prove(RAM_STEP, run(RAM_STEP), waived), Proven)
    assert isinstance(prove(RAM_STEP, run(RAM_STEP), replace(waived, now=NOW + 3600)), Contradicted)


def test_the_installed_system_needs_a_boot_of_its_own() -> None:
    """An installed agent with the RAM disk's boot id, or of the wrong stage, did not boot."""
    assert isinstance(prove(INSTALLED_STEP, run(INSTALLED_STEP), installed_seeing(boot_id=RAM_BOOT)), NotYet)
    assert isinstance(prove(INSTALLED_STEP, run(INSTALLED_STEP), installed_seeing(stage="ram")), NotYet)


@pytest.mark.parametrize(
    ("fields", "seen", "needs_person"),
    [
        ({"mismatches": 1}, "differ", False),
        ({"image_digest": "sha256:ff"}, "sha256:ff", False),
        ({"disk_serial": "DATA0001"}, "DATA0001", True),
        ({"frames_verified": 3}, "3 of 4", False),
        ({"frames_total": 1, "frames_verified": 1}, "1 of 4", False),
    ],
)
def test_a_bad_write_is_contradicted(fields: dict[str, object], seen: str, needs_person: bool) -> None:
    """A difference, another image, another disk or too little read back is no proof but its contrary."""
    proof = prove(WRITE, run(WRITE), written_seeing(**fields))
    assert isinstance(proof, Contradicted)
    assert seen in proof.seen
    assert proof.needs_person is needs_person


def test_an_empty_report_verifies_nothing() -> None:
    """Nought of nought frames is no proof, even at nought percent."""
    step = replace(WRITE, verify_percent=0)
    case = replace(written_seeing(frames_total=0, frames_verified=0), image=None)
    assert isinstance(prove(step, StepRun(order=ORDER, index=1, attempt=1, state=StepState.STARTED, began_at=BEGAN), case), Contradicted)


def test_half_verification_is_enough_when_half_was_asked() -> None:
    """The order's percentage decides how much must be read back, rounded up."""
    step, half = replace(WRITE, verify_percent=50), written_seeing(frames_verified=2)
    began = StepRun(order=ORDER, index=1, attempt=1, state=StepState.STARTED, began_at=BEGAN)
    assert isinstance(prove(step, began, half), Proven)
    assert isinstance(prove(replace(step, verify_percent=51), began, half), Contradicted)


@pytest.mark.parametrize("operation", ["7/1/2", "6/1/1", "7/0/1", ""])
def test_a_report_of_another_operation_proves_nothing(operation: str) -> None:
    """Only this attempt's own operation counts."""
    assert isinstance(prove(WRITE, run(WRITE), written_seeing(operation=operation)), NotYet)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (OperationState.ORDERED, NotYet),
        (OperationState.RUNNING, NotYet),
        (OperationState.DONE, NotYet),
        (OperationState.FAILED, Contradicted),
        (OperationState.CANCELLED, Contradicted),
    ],
)
def test_an_operation_alone_never_proves_the_write(state: OperationState, expected: type) -> None:
    """A finished operation without a report of what is on the disk proves nothing; a failed one contradicts."""
    operation = Operation(
        id=OperationId(OPERATION),
        subject=Subject("node:atlas01"),
        step=WRITE,
        state=state,
        generation=1,
        ordered_at=BEGAN,
        deadline_at=NOW + 1000,
        units_done=30,
        units_total=100,
    )
    case = replace(healthy(), observations={}, operations=(operation,))
    assert isinstance(prove(WRITE, run(WRITE), case), expected)


def _observations(times: list[float]) -> dict[tuple[Kind, Witness], Observation]:
    return {key: replace(seen, seen_at=at) for (key, seen), at in zip(healthy().observations.items(), times, strict=True)}


@given(st.lists(st.floats(NOW - 1e6, BEGAN), min_size=9, max_size=9), st.sampled_from(STEPS))
def test_no_old_look_ever_proves(times: list[float], step: Step) -> None:
    """Whatever was seen at or before the beginning of a step, the step is not proven by it."""
    case = replace(healthy(), observations=_observations(times))
    assert not isinstance(prove(step, run(step), case), Proven)


@given(st.floats(NOW - 1e6, BEGAN), st.sampled_from((RAM_STEP, INSTALLED_STEP)))
def test_no_old_claim_ever_proves(claimed_at: float, step: Step) -> None:
    """A claim of before the step proves nothing, even when it is reported afresh."""
    ram = look(Kind.AGENT_BOOT, Witness.RAM_DISK, replace(RAM, claimed_at=claimed_at), 1)
    installed = look(Kind.AGENT_BOOT, Witness.RUNNING_SYSTEM, replace(INSTALLED, claimed_at=claimed_at), 1)
    case = healthy()
    fresh = {(Kind.AGENT_BOOT, Witness.RAM_DISK): ram, (Kind.AGENT_BOOT, Witness.RUNNING_SYSTEM): installed}
    case = replace(case, observations={**case.observations, **fresh})
    assert not isinstance(prove(step, run(step), case), Proven)
