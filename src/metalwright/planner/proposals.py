"""What a concern of the planner may answer: do this, or wait for that."""

from dataclasses import dataclass
from enum import IntEnum

from metalwright.model.judgement import Gate
from metalwright.model.work import Step, Wait


class Precedence(IntEnum):
    """Fixed order in which `compose` picks among proposals: the lower wins."""

    SAFETY = 0
    IN_FLIGHT = 1
    RETIRE = 2
    REPAIR = 3
    PROVISIONING = 4
    FIRMWARE = 5
    ROLLOUT = 6
    VALIDATION = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Steps towards one gate. No steps: nothing is to be done for it."""

    precedence: Precedence
    goal: Gate
    steps: tuple[Step, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """This concern waits, and why."""

    precedence: Precedence
    goal: Gate
    wait: Wait
    text: str
