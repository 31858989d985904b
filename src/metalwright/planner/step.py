"""The current step of an open order: prove it, begin it, await it, or give it up."""

from collections.abc import Mapping
from dataclasses import replace

from metalwright.gates.proofs import prove
from metalwright.model.case import NodeCase
from metalwright.model.hardware import PowerState
from metalwright.model.ids import OperationId, node_subject
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.observation import BootSeen, Kind, Need, Observation, PowerSeen, Witness
from metalwright.model.work import (
    DISRUPTIVE,
    INTERRUPTIBLE,
    BootRamDisk,
    Contradicted,
    Interruptible,
    NotYet,
    Operation,
    OperationState,
    Proven,
    Step,
    StepRun,
    StepState,
    Wait,
    WriteImage,
)
from metalwright.planner import by_hand, provisioning
from metalwright.planner.by_hand import Doer
from metalwright.planner.decision import Act, Decision, GrantWanted, Look, Reason, Rest
from metalwright.planner.looks import due_kinds, next_look

MAX_ATTEMPTS = 3
"""Attempts at one step in one order. Servers do fail one boot in some hundreds; a third failure in a row is the machine's."""

DEADLINE_S: dict[str, float] = {"boot-ram-disk": 900.0, "write-image": 4 * 3600.0, "boot-installed": 900.0}
"""From the act to the proof. A large server's memory training and POST take up to 10 minutes; a shorter limit would reset
machines in the middle of POST, a longer one only delays the report of a dead one."""

RESET_SHOWS_S = 60.0
"""A BMC that accepted a reset shows it within this time, or it did not do it. BMCs lag by 10 to 30 s."""

RETRY_S = 10.0
POLL_S = 5.0
AWAITS: dict[str, Wait] = {"boot-ram-disk": Wait.RAM_DISK, "write-image": Wait.IMAGE, "boot-installed": Wait.INSTALLED}
BASELINE = Need(kind=Kind.BMC_POWER, witness=Witness.OUT_OF_BAND, max_age_s=30.0)


def is_open(case: NodeCase) -> bool:
    """The head order has a step that is neither proven nor given up."""
    return case.order is not None and _index(case) < len(case.order.body.steps) and not _given_up(case)


def proven(case: NodeCase) -> frozenset[int]:
    """Indexes of the head order's steps that are done."""
    return frozenset(run.index for run in case.runs if run.state is StepState.PROVEN)


def current(case: NodeCase) -> tuple[int, StepRun | None]:
    """The first step of the head order that is not proven, and its latest run."""
    return _index(case), _latest(case, _index(case))


def failed_for_good(case: NodeCase) -> str:
    """Why the head order ended in a failure that only a person can lift; empty when it did not."""
    run = case.runs[-1] if case.runs else None
    if run is None or run.state is not StepState.FAILED or not run.needs_person or case.order is None:
        return ""
    if case.order.body.wish_digest != case.wish_digest or case.retry_asked_at > (run.ended_at or 0.0):
        return ""
    return f"order {run.order} step {run.index + 1}: {run.detail} — then: metalwright node retry {case.node.name}"


def in_flight_uninterruptible(case: NodeCase) -> bool:
    """A step is under way that must first come to a checkpoint."""
    run = _latest(case, _index(case))
    if run is None or case.order is None or run.state not in (StepState.INTENDED, StepState.STARTED):
        return False
    kind = case.order.body.steps[run.index].kind
    return INTERRUPTIBLE[kind] is not Interruptible.ANYTIME and any(_is_running(operation) for operation in case.operations)


def cancel(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Decision:
    """Ask the operation in flight to stop at its checkpoint; the new order comes after."""
    running = next(operation for operation in case.operations if _is_running(operation))
    reason = Reason(wait=Wait.IMAGE, gate=Gate.OS, text="the spec changed: the image write stops at its next frame")
    wanted = None if running.cancel_wanted else running.id
    return Decision(verdicts=verdicts, due_at=case.now + POLL_S * case.patience, cancel=wanted, reason=reason)


def advance(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Decision:
    """Prove the current step, or begin it, or wait for it."""
    index = _index(case)
    run = _latest(case, index)
    if run is None or run.state is StepState.FAILED:
        return _begin(case, verdicts, index, run)
    return _follow(case, verdicts, run)


# -- a step in flight --------------------------------------------------------------------------------------------------------


def _follow(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun) -> Decision:
    proof = prove(_step(case, run.index), run, case)
    if isinstance(proof, Contradicted):
        return _fail(case, verdicts, run, proof.seen, proof.needs_person)
    if by_hand.is_by_hand(run):
        return _follow_person(case, verdicts, run, proof)
    if isinstance(proof, Proven):
        return _done(case, verdicts, run, proof.seen)
    return _follow_act(case, verdicts, run, proof)


def _follow_act(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun, proof: NotYet) -> Decision:
    step = _step(case, run.index)
    if case.now - max(run.began_at, case.listening_since) > DEADLINE_S[step.kind] * case.patience:
        limit = DEADLINE_S[step.kind] * case.patience
        return _fail(case, verdicts, run, f"not proven within {limit:.0f} s: {run.detail or proof.awaiting}", False)
    if run.state is StepState.INTENDED:
        return _act(case, verdicts, run)
    if isinstance(step, WriteImage):
        return _await_write(case, verdicts, run, proof)
    return _await_boot(case, verdicts, run, proof)


def _done(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun, seen: str) -> Decision:
    done = replace(run, state=StepState.PROVEN, ended_at=case.now, detail=seen)
    return Decision(verdicts=verdicts, due_at=case.now, run=done, order_done=run.index + 1 == _count(case), again=True)


def _follow_person(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun, proof: Proven | NotYet) -> Decision:
    """Hands are at it: it ends with their word and the proof together, each of which is awaited."""
    step, word = _step(case, run.index), by_hand.word_of(case, run)
    if isinstance(proof, Proven) and (word is not None or by_hand.doer(case, step) is not Doer.PERSON):
        return _done(case, verdicts, run, f"{proof.seen}; done by {word.by}" if word else proof.seen)
    if isinstance(proof, NotYet) and (why := by_hand.given_up(case, step, run, word, DEADLINE_S[step.kind])):
        return _fail(case, verdicts, run, why, False)
    reason = by_hand.awaiting(case, step, word, proof, AWAITS[step.kind])
    return Decision(verdicts=verdicts, due_at=case.now + POLL_S * case.patience, reason=reason)


def _act(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun) -> Decision:
    """The intent stands and no outcome is recorded: do it, now or when the BMC may be asked again."""
    step = _step(case, run.index)
    if run.retry_at is not None and run.retry_at > case.now:
        reason = Reason(wait=Wait.BMC, gate=_goal(case), text=f"{step.kind}: {run.detail}")
        return Decision(verdicts=verdicts, due_at=run.retry_at, reason=reason)
    return Decision(verdicts=verdicts, due_at=case.now, action=Act(step=step, run=run), reason=_reason(case, step, f"{step.kind} to begin"))


def _await_write(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun, proof: NotYet) -> Decision:
    if not provisioning.ram_agent_is_alive(case) and not provisioning.ram_agent_may_speak(case):
        return _fail(case, verdicts, run, "the RAM disk's agent fell silent in the middle of the write", False)
    reason = _reason(case, _step(case, run.index), proof.awaiting)
    return Decision(verdicts=verdicts, due_at=case.now + POLL_S * case.patience, reason=reason)


def _await_boot(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun, proof: NotYet) -> Decision:
    """While a boot is awaited the BMC is read: a reset that it accepted and did not do is found early."""
    look = case.seen(Kind.BMC_POWER, Witness.OUT_OF_BAND)
    fresh = look is not None and look.seen_at > run.began_at and isinstance(look.body, PowerSeen)
    lied = _lie(run, look.body) if fresh and look is not None and isinstance(look.body, PowerSeen) else ""
    if lied and case.now - run.began_at > RESET_SHOWS_S * case.patience:
        return _fail(case, verdicts, run, lied, False)
    reason = _reason(case, _step(case, run.index), proof.awaiting)
    stale = look is None or case.now - look.seen_at > RESET_SHOWS_S / 2 * case.patience
    action = Look(kinds=(Kind.BMC_POWER,)) if stale else Rest()
    return Decision(verdicts=verdicts, due_at=case.now + POLL_S * case.patience, reason=reason, action=action)


def _lie(run: StepRun, power: PowerSeen) -> str:
    if power.power is PowerState.OFF:
        return "the BMC accepted the reset, and the machine is off"
    before = run.baseline.get("last_reset_at", "")
    if before and power.last_reset_at == before and run.baseline.get("power") == PowerState.ON:
        return f"the BMC accepted the reset, and its last reset is still {before}"
    return ""


def _fail(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], run: StepRun, why: str, needs_person: bool) -> Decision:
    last = run.attempt >= MAX_ATTEMPTS
    failed = replace(
        run,
        state=StepState.FAILED,
        ended_at=case.now,
        detail=why if not last else f"{MAX_ATTEMPTS} attempts failed, the last: {why}",
        retry_at=case.now + RETRY_S * run.attempt * case.patience,
        needs_person=needs_person or last,
    )
    return Decision(verdicts=verdicts, due_at=case.now, run=failed, again=True)


# -- a step to begin ---------------------------------------------------------------------------------------------------------


def _begin(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], index: int, failed: StepRun | None) -> Decision:
    step = _step(case, index)
    if failed is not None and failed.retry_at is not None and failed.retry_at > case.now:
        reason = Reason(wait=Wait.RETRY, gate=_goal(case), text=f"{step.kind}: {failed.detail}; trying again")
        return Decision(verdicts=verdicts, due_at=failed.retry_at, reason=reason)
    if missing := _missing_leave(case, step, index):
        return Decision(verdicts=verdicts, due_at=case.now + POLL_S * case.patience, reason=missing)
    if isinstance(step, WriteImage) and not _may_write(verdicts):
        return _look_first(case, verdicts)
    power = case.seen(BASELINE.kind, BASELINE.witness)
    if not isinstance(step, WriteImage) and (power is None or not _is_baseline(case, power)):
        return Decision(verdicts=verdicts, due_at=case.now, action=Look(kinds=(BASELINE.kind,)), reason=None)
    if not isinstance(step, WriteImage) and power is not None and not isinstance(power.body, PowerSeen):
        reason = Reason(wait=Wait.BMC, gate=_goal(case), text=f"BMC {case.node.bmc}: {power.failure}")
        due = power.seen_at + POLL_S * case.patience
        action = Look(kinds=(BASELINE.kind,)) if due <= case.now else Rest()
        return Decision(verdicts=verdicts, due_at=max(due, case.now), reason=reason, action=action)
    return _intend(case, verdicts, index, failed)


def _missing_leave(case: NodeCase, step: Step, index: int) -> Reason | None:
    """A person's word first: no permit is held while people sleep."""
    if missing := by_hand.word_awaited(case, step, index):
        return missing
    if step.kind in DISRUPTIVE and not _has_permit(case):
        return Reason(wait=Wait.PERMIT, gate=_goal(case), text=f"{step.kind} needs a permit")
    return None


def _look_first(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Decision:
    """Nothing is written before the inventory gate is open at this moment, on fresh looks."""
    reason = Reason(wait=Wait.OBSERVATION, gate=Gate.INVENTORY, text="nothing is written before the inventory gate is open")
    due = due_kinds(case, verdicts)
    action = Look(kinds=due) if due else Rest()
    return Decision(verdicts=verdicts, due_at=next_look(case, verdicts), action=action, reason=reason)


def _intend(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], index: int, failed: StepRun | None) -> Decision:
    step = _step(case, index)
    order = case.order.number if case.order else None
    if order is None:
        raise AssertionError("a step without an order")
    attempt = failed.attempt + 1 if failed else 1
    is_by_hand = by_hand.doer(case, step) is Doer.PERSON
    run = StepRun(
        order=order,
        index=index,
        attempt=attempt,
        state=StepState.INTENDED,
        began_at=case.now,
        baseline=_baseline(case) | (by_hand.MARK if is_by_hand else {}),
        epoch=case.epoch,
    )
    return Decision(
        verdicts=verdicts,
        due_at=case.now,
        run=run,
        operation=_operation(case, step, run),
        grants=_grants(case, step, run),
        action=Rest() if is_by_hand else Act(step=step, run=run),
        reason=by_hand.to_be_done(case, step) if is_by_hand else _reason(case, step, f"{step.kind} to begin"),
    )


def _operation(case: NodeCase, step: Step, run: StepRun) -> Operation | None:
    if not isinstance(step, WriteImage):
        return None
    return Operation(
        id=OperationId(f"{run.order}/{run.index}/{run.attempt}"),
        subject=node_subject(case.node.name),
        step=step,
        state=OperationState.ORDERED,
        generation=case.epoch,
        ordered_at=case.now,
        deadline_at=case.now + DEADLINE_S[step.kind] * case.patience,
    )


def _grants(case: NodeCase, step: Step, run: StepRun) -> tuple[GrantWanted, ...]:
    """A boot into RAM claims a token of this attempt; the installed system one of this order, written beside the image."""
    if isinstance(step, BootRamDisk):
        until = case.now + DEADLINE_S[step.kind] * case.patience + by_hand.extra_s(case)
        return (GrantWanted(id=f"{run.order}/{run.index}/{run.attempt}", stage="ram", opens_at=case.now, expires_at=until),)
    if isinstance(step, WriteImage):
        until = case.now + (DEADLINE_S["write-image"] + DEADLINE_S["boot-installed"] * MAX_ATTEMPTS) * case.patience + by_hand.extra_s(case)
        return (GrantWanted(id=f"{run.order}/installed", stage="installed", opens_at=case.now, expires_at=until),)
    return ()


def _is_baseline(case: NodeCase, power: Observation) -> bool:
    """Young, and made after all that was done before: an older one would take the last step's reset for this one's."""
    ended = [run.ended_at or run.began_at for run in case.runs]
    done_at = max([case.order.made_at if case.order else 0.0, *ended])
    return done_at < power.seen_at and case.now - power.seen_at <= BASELINE.max_age_s


def _baseline(case: NodeCase) -> dict[str, str]:
    look = case.seen(Kind.BMC_POWER, Witness.OUT_OF_BAND)
    power = look.body if look is not None and isinstance(look.body, PowerSeen) else None
    boots = (case.seen(Kind.AGENT_BOOT, witness) for witness in (Witness.RAM_DISK, Witness.RUNNING_SYSTEM))
    ids = [look.body.boot_id for look in boots if look is not None and isinstance(look.body, BootSeen)]
    return {
        "power": power.power if power else PowerState.UNKNOWN,
        "last_reset_at": (power.last_reset_at or "") if power else "",
        "boot_ids": ",".join(ids),
    }


# -- small questions ---------------------------------------------------------------------------------------------------------


def _index(case: NodeCase) -> int:
    """Index of the first step of the head order that is not proven."""
    done = proven(case)
    return next((index for index in range(_count(case)) if index not in done), _count(case))


def _count(case: NodeCase) -> int:
    return len(case.order.body.steps) if case.order else 0


def _latest(case: NodeCase, index: int) -> StepRun | None:
    runs = [run for run in case.runs if run.index == index]
    return max(runs, key=lambda run: run.attempt) if runs else None


def _given_up(case: NodeCase) -> bool:
    """Failed for a person, or in a way that needs another order: the write lost its RAM disk."""
    run = _latest(case, _index(case))
    if run is None or run.state is not StepState.FAILED or case.order is None:
        return False
    step = case.order.body.steps[run.index]
    return run.needs_person or (isinstance(step, WriteImage) and not provisioning.ram_agent_is_alive(case))


def _step(case: NodeCase, index: int) -> Step:
    if case.order is None:
        raise AssertionError("a step without an order")
    return case.order.body.steps[index]


def _has_permit(case: NodeCase) -> bool:
    return case.permit is not None and case.permit.order == case.head and case.permit.expires_at > case.now


def _may_write(verdicts: Mapping[Gate, GateVerdict]) -> bool:
    inventory = verdicts.get(Gate.INVENTORY)
    return inventory is not None and inventory.is_open


def _is_running(operation: Operation) -> bool:
    return operation.state in (OperationState.ORDERED, OperationState.RUNNING)


def _goal(case: NodeCase) -> Gate:
    return case.order.body.goal if case.order else Gate.OS


def _reason(case: NodeCase, step: Step, text: str) -> Reason:
    return Reason(wait=AWAITS[step.kind], gate=_goal(case), text=text)
