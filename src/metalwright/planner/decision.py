"""What a turn decided for one node: the output of `planner.decide`. Nothing in it was done yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalwright.model.ids import Instant, OperationId
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.observation import Kind
from metalwright.model.work import Operation, OrderBody, Step, StepRun, Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Ask the BMC for these kinds."""

    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Do this attempt of this step; the intent is committed first."""

    step: Step
    run: StepRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Touch nothing."""


Action = Look | Act | Rest


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantWanted:
    """A boot that may claim a token; the turn derives the token's hash (a secret is needed for that)."""

    id: str
    stage: str
    opens_at: Instant
    expires_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a node does not move, for the Report and the board."""

    wait: Wait
    gate: Gate
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """At most one order, one step transition and one action."""

    verdicts: Mapping[Gate, GateVerdict]
    due_at: Instant
    """When to look at this node again if nothing wakes it earlier."""
    order: OrderBody | None = None
    run: StepRun | None = None
    operation: Operation | None = None
    cancel: OperationId | None = None
    grants: tuple[GrantWanted, ...] = ()
    action: Action = field(default_factory=Rest)
    reason: Reason | None = None
    order_done: bool = False
    """The last step was just proven: the permit goes back."""
    again: bool = False
    """State changed without touching hardware: take the next turn at once."""
