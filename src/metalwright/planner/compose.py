"""Picks one proposal by fixed precedence and makes the work order of it. What was not chosen is the Report."""

from collections.abc import Mapping, Sequence

from metalwright.model.case import NodeCase
from metalwright.model.ids import node_subject
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.work import OrderBody
from metalwright.planner import provisioning
from metalwright.planner.proposals import Hold, Proposal

CONCERNS = (provisioning.propose,)
"""Each reads the case and the verdicts only, and imports no other."""


def proposals(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> tuple[Proposal | Hold, ...]:
    """Every concern's answer, most urgent first."""
    return tuple(sorted((propose(case, verdicts) for propose in CONCERNS), key=lambda answer: answer.precedence))


def chosen(answers: Sequence[Proposal | Hold]) -> Proposal | None:
    """The most urgent proposal with steps; None when there is nothing to do."""
    return next((answer for answer in answers if isinstance(answer, Proposal) and answer.steps), None)


def first_hold(answers: Sequence[Proposal | Hold]) -> Hold | None:
    """The most urgent reason to wait."""
    return next((answer for answer in answers if isinstance(answer, Hold)), None)


def order_body(case: NodeCase, proposal: Proposal) -> OrderBody:
    """The content of the order for a proposal: the same case and proposal give the same bytes."""
    return OrderBody(
        subject=node_subject(case.node.name),
        goal=proposal.goal,
        wish_digest=case.wish_digest,
        round=case.rounds.get(proposal.goal, 0) + 1,
        steps=proposal.steps,
        reason=proposal.reason,
    )
