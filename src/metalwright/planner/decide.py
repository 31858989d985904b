"""judge → decide for one node: a pure function from what is known to what is done next.

an order is open and still wanted → its current step (`planner.step`)
otherwise                        → look if something needed is missing or stale, then order, or wait and say why
"""

from collections.abc import Mapping

from metalwright.gates.judge import judge_node
from metalwright.model.case import NodeCase
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.observation import Observation, Witness
from metalwright.model.work import StepState, Wait
from metalwright.planner import compose, provisioning, step
from metalwright.planner.decision import Decision, Look, Reason
from metalwright.planner.looks import due_kinds, next_look


def decide(case: NodeCase) -> Decision:
    """The next move. The same case always gives the same decision."""
    verdicts = judged(case)
    if case.order is not None and step.is_open(case) and not case.observe_only:
        if case.order.body.wish_digest == case.wish_digest:
            return step.advance(case, verdicts)
        if step.in_flight_uninterruptible(case):
            return step.cancel(case, verdicts)
    due = due_kinds(case, verdicts)
    if due:
        return Decision(verdicts=verdicts, due_at=case.now, action=Look(kinds=due), reason=_looking(case, verdicts))
    return _order_or_wait(case, verdicts)


def judged(case: NodeCase) -> Mapping[Gate, GateVerdict]:
    """Verdicts in order, up to and with the first gate that is not open; every gate of a site that is only observed."""
    verdicts: dict[Gate, GateVerdict] = {}
    for gate in provisioning.GATES:
        verdicts[gate] = judge_node(case, gate)
        if not verdicts[gate].is_open and not case.observe_only:
            break
    return verdicts


def _order_or_wait(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Decision:
    if case.observe_only:
        return _observed(case, verdicts)
    if case.paused:
        return _wait(case, verdicts, Reason(wait=Wait.PERSON, gate=_gate(verdicts), text="paused by a person"))
    if held := step.failed_for_good(case):
        return _wait(case, verdicts, Reason(wait=Wait.PERSON, gate=_gate(verdicts), text=held))
    answers = compose.proposals(case, verdicts)
    proposal = compose.chosen(answers)
    if proposal is not None:
        body = compose.order_body(case, proposal)
        return Decision(verdicts=verdicts, due_at=case.now, order=body, again=True)
    hold = compose.first_hold(answers)
    if hold is None:
        return Decision(verdicts=verdicts, due_at=next_look(case, verdicts))
    return _wait(case, verdicts, Reason(wait=hold.wait, gate=hold.goal, text=hold.text))


def _observed(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Decision:
    """At rest, whatever was seen: what is missing is for whoever delivered the site."""
    unopened = [f"{gate} {verdict.colour}" for gate, verdict in verdicts.items() if not verdict.is_open]
    if not unopened:
        return Decision(verdicts=verdicts, due_at=next_look(case, verdicts))
    text = f"only observed: {', '.join(unopened)}"
    return _wait(case, verdicts, Reason(wait=Wait.PERSON, gate=_gate(verdicts), text=text))


def _wait(case: NodeCase, verdicts: Mapping[Gate, GateVerdict], reason: Reason) -> Decision:
    return Decision(verdicts=verdicts, due_at=next_look(case, verdicts), reason=reason)


def _looking(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Reason | None:
    """The board shows the failure being retried, and nothing while a first look is on its way."""
    failed = [look for look in _bmc_looks(case) if look.body is None]
    if not failed:
        return None
    return Reason(wait=Wait.BMC, gate=_gate(verdicts), text=f"BMC {case.node.bmc}: {failed[0].failure}")


def _bmc_looks(case: NodeCase) -> list[Observation]:
    return [look for (_, witness), look in case.observations.items() if witness is Witness.OUT_OF_BAND]


def _gate(verdicts: Mapping[Gate, GateVerdict]) -> Gate:
    return next((gate for gate, verdict in verdicts.items() if not verdict.is_open), Gate.OS)


def is_converged(case: NodeCase) -> bool:
    """Nothing is to be done for this node: every gate up to the plan's is open and no step is in flight."""
    if case.order is not None and step.is_open(case) and any(run.state is not StepState.PROVEN for run in case.runs):
        return False
    verdicts = judged(case)
    answers = compose.proposals(case, verdicts)
    return compose.chosen(answers) is None and compose.first_hold(answers) is None
