"""Who does a step, and what is still awaited of a person: the depth of the order's gate, read anew in each turn.

automatic   metalwright
assisted    metalwright, once a person confirmed the order
manual      a person; only the image write stays with the agent, after a person compared the drive with the order: what a person
            writes by other means carries neither the token of the first boot nor a read-back

The steps, their order, their proofs and the gates are the same at every depth, so a change of depth in the middle skips nothing.
"""

from enum import StrEnum

from metalwright.gates.plan.depth import depth_of
from metalwright.model.case import NodeCase
from metalwright.model.judgement import Gate
from metalwright.model.spec import Depth
from metalwright.model.work import BootInstalled, BootRamDisk, Confirmation, NotYet, Proven, Step, StepRun, Wait, WriteImage
from metalwright.planner.decision import Reason

OPEN_S = 7 * 86400.0
"""How long a step waits for hands in one attempt, and how long the token of its boot is open: a technician's week. Longer leaves a
token open that nobody needs; shorter asks again over a holiday. A second claim of it revokes both, as always."""

MARK = {"by": "hands"}
"""In the baseline of a run that a person does."""

TITLES = {
    "boot-ram-disk": "Start the server from the network",
    "write-image": "Check the drive that will be overwritten",
    "boot-installed": "Start the server from its own disk",
}


class Doer(StrEnum):
    METALWRIGHT = "metalwright"
    ON_A_WORD = "metalwright, once a person confirmed"
    PERSON = "a person"


def doer(case: NodeCase, step: Step) -> Doer:
    """Who does a step of the head order, as the spec is now."""
    depth = depth_of(case.spec, case.order.body.goal) if case.order else Depth.AUTOMATIC
    if depth is Depth.AUTOMATIC:
        return Doer.METALWRIGHT
    return Doer.PERSON if depth is Depth.MANUAL and isinstance(step, BootRamDisk | BootInstalled) else Doer.ON_A_WORD


def is_by_hand(run: StepRun) -> bool:
    """This attempt was left to a person when it began."""
    return run.baseline.get("by") == MARK["by"]


def extra_s(case: NodeCase) -> float:
    """What people may add to the life of a boot token."""
    return OPEN_S if case.order and depth_of(case.spec, case.order.body.goal) is not Depth.AUTOMATIC else 0.0


# -- a step that begins on a person's word -----------------------------------------------------------------------------------


def word_awaited(case: NodeCase, step: Step, index: int) -> Reason | None:
    """Why a step may not begin yet: nobody confirmed it. One word is for a whole assisted order, but for one step of a manual one."""
    if case.order is None or doer(case, step) is not Doer.ON_A_WORD or go_of(case, index) is not None:
        return None
    return _person(case, f"work order {case.order.number}: {_small(step)}; {_how('confirm', case)}")


def go_of(case: NodeCase, index: int) -> Confirmation | None:
    """The word that lets a step of the head order begin."""
    is_manual = case.order is not None and depth_of(case.spec, case.order.body.goal) is Depth.MANUAL
    return next((word for word in case.confirmations if word.says == "go" and (word.step == index or not is_manual)), None)


# -- a step that hands do ----------------------------------------------------------------------------------------------------


def word_of(case: NodeCase, run: StepRun) -> Confirmation | None:
    """Somebody said that this very attempt was done."""
    words = (word for word in case.confirmations if word.says == "done" and (word.step, word.attempt) == (run.index, run.attempt))
    return next((word for word in words if word.at >= run.began_at), None)


def to_be_done(case: NodeCase, step: Step) -> Reason:
    """For the board: a person's turn."""
    number = case.order.number if case.order else 0
    return _person(case, f"work order {number} by hand: {_small(step)}; metalwright work show {number}")


def awaiting(case: NodeCase, step: Step, word: Confirmation | None, proof: Proven | NotYet, wait: Wait) -> Reason:
    """What is still missing: the hands, their word, or the proof."""
    if word is not None and isinstance(proof, NotYet):
        goal = case.order.body.goal if case.order else Gate.OS
        return Reason(wait=wait, gate=goal, text=f"{proof.awaiting} (done by {word.by})")
    if isinstance(proof, Proven) and case.order is not None:
        return _person(case, f"work order {case.order.number} is seen done; {_how('done', case)}")
    return to_be_done(case, step)


def given_up(case: NodeCase, step: Step, run: StepRun, word: Confirmation | None, deadline_s: float) -> str:
    """Why this attempt is over; empty while it is not."""
    if word is not None:
        waited_s = case.now - max(word.at, case.listening_since)
        return f"{word.by} said it is done, and nothing shows it within {deadline_s:.0f} s" if waited_s > deadline_s * case.patience else ""
    if doer(case, step) is not Doer.PERSON:
        return "the depth was changed: metalwright takes the step over"
    return "nobody confirmed it within a week" if case.now - run.began_at > OPEN_S else ""


def _person(case: NodeCase, text: str) -> Reason:
    return Reason(wait=Wait.PERSON, gate=case.order.body.goal if case.order else Gate.OS, text=text)


def _how(verb: str, case: NodeCase) -> str:
    return f"metalwright work {verb} {case.order.number if case.order else 0} --by NAME"


def _small(step: Step) -> str:
    title = TITLES[step.kind]
    drive = f" {step.disk_serial}" if isinstance(step, WriteImage) else ""
    return f"{title[0].lower()}{title[1:]}{drive}"
