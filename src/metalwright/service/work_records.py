"""What people did, as evidence: a `work` record for each step that a person confirmed, when that step ends."""

from collections.abc import Mapping
from typing import Any

from metalwright.gates.plan.depth import depth_of
from metalwright.model.case import NodeCase
from metalwright.model.work import Confirmation, StepRun, StepState
from metalwright.planner import by_hand


def of_a_person(case: NodeCase, run: StepRun | None) -> tuple[str, dict[str, Any]] | None:
    """Key and predicate for a run that just ended and that a person confirmed; None for every other."""
    if run is None or case.order is None or run.state not in (StepState.PROVEN, StepState.FAILED):
        return None
    word = _word(case, run)
    if word is None:
        return None
    predicate = {
        "work_order": run.order,
        "order_digest": case.order.digest,
        "node": case.node.name,
        "goal": case.order.body.goal,
        "depth": depth_of(case.spec, case.order.body.goal),
        "spec_digest": case.spec_digest,
        "step": case.order.body.steps[run.index].kind,
        "attempt": run.attempt,
        "state": run.state,
        "seen": run.detail,
        **_by(word),
    }
    return f"work/{run.order}/{run.index}/{run.attempt}", predicate


def people_of(case: NodeCase) -> Mapping[int, Mapping[str, Any]]:
    """Step of the head order → who confirmed it, for the record of the whole order."""
    return {run.index: _by(word) for run in case.runs if (word := _word(case, run)) is not None}


def _word(case: NodeCase, run: StepRun) -> Confirmation | None:
    return by_hand.word_of(case, run) if by_hand.is_by_hand(run) else by_hand.go_of(case, run.index)


def _by(word: Confirmation) -> dict[str, Any]:
    said = {"by": word.by, "said": word.says, "said_at_ms": round(word.at * 1000)}
    return said | ({"note": word.note} if word.note else {})
