"""What is to be done: site plans, work orders, permits, step runs, operations, and why things wait."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from metalwright.model.hardware import BootTarget
from metalwright.model.ids import Digest, Instant, OperationId, OrderNumber, Subject
from metalwright.model.judgement import Gate

# -- steps: each says everything the executor needs; the executor chooses nothing --------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BootRamDisk:
    """Start the machine into the RAM disk over the network. Edge action: baseline is power state, reset time and boot id."""

    kind: Literal["boot-ram-disk"] = "boot-ram-disk"
    serial: str = ""
    boot_target: BootTarget = BootTarget.NETWORK
    boot_path: str = "uefi-http"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteImage:
    """Write a system image onto one disk, named by its serial, from the RAM disk. Never without the identity rule."""

    kind: Literal["write-image"] = "write-image"
    serial: str = ""
    disk_serial: str = ""
    image: str = ""
    image_digest: str = ""
    verify_percent: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BootInstalled:
    """Start the machine from the disk that was written; proven by the installed agent with a boot id never seen before."""

    kind: Literal["boot-installed"] = "boot-installed"
    serial: str = ""
    disk_serial: str = ""
    image_digest: str = ""


Step = BootRamDisk | WriteImage | BootInstalled


class Interruptible(StrEnum):
    """Whether another order may take the machine while a step is in flight."""

    NEVER = "never"
    AT_CHECKPOINT = "at-checkpoint"
    ANYTIME = "anytime"


INTERRUPTIBLE: dict[str, Interruptible] = {
    "boot-ram-disk": Interruptible.ANYTIME,
    "write-image": Interruptible.AT_CHECKPOINT,
    "boot-installed": Interruptible.ANYTIME,
}

DISRUPTIVE = frozenset({"boot-ram-disk", "write-image", "boot-installed"})
"""Step kinds that need a permit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderBody:
    """The content of a work order; its digest decides whether a new one is written."""

    subject: Subject
    goal: Gate
    wish_digest: Digest
    """What the spec wanted of this subject when the order was made (`NodeCase.wish_digest`)."""
    round: int
    """How often this goal was tried under this wish: 1 for the first. Bounded, so that a machine is never redone for ever."""
    steps: tuple[Step, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """Immutable, numbered, with a parent; accepted only if the parent is the subject's current head."""

    number: OrderNumber
    parent: OrderNumber | None
    site_plan: int
    digest: Digest
    made_at: Instant
    body: OrderBody


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePlan:
    """What the site decided: made only by the site's turn when the spec, approvals or rings change."""

    number: int
    parent: int | None
    spec_digest: Digest
    until: Gate
    """How far nodes may go."""
    max_disrupted: int
    """How many nodes may be disrupted at once."""
    made_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """The right to disrupt one subject for one order until `expires_at`."""

    subject: Subject
    order: OrderNumber
    domains: tuple[str, ...]
    watts: int
    expires_at: Instant


# -- step runs ---------------------------------------------------------------------------------------------------------------


class StepState(StrEnum):
    """-ing while working, past participle at rest."""

    INTENDED = "intended"
    """Committed before the act; if nothing else is recorded, the act may or may not have happened."""
    STARTED = "started"
    PROVEN = "proven"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One attempt at one step. `baseline` is what was seen before the act (boot id, reset time, power)."""

    order: OrderNumber
    index: int
    attempt: int
    state: StepState
    began_at: Instant
    baseline: Mapping[str, str] = field(default_factory=dict)
    epoch: int = 0
    ended_at: Instant | None = None
    detail: str = ""
    """Last outcome in words: what is awaited, or what failed."""
    retry_at: Instant | None = None
    needs_person: bool = False
    """Failed in a way that no retry can help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The act was done or is under way; now a proof is awaited."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Nothing was changed yet; look again after `retry_after_s`."""

    reason: str
    retry_after_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """This attempt is over. `fault` says what is wrong; `needs_person` that no retry can help."""

    fault: str
    needs_person: bool = False


Outcome = Started | Waiting | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A fresh observation shows the step done."""

    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotYet:
    """Nothing shows it yet."""

    awaiting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicted:
    """A fresh observation shows that it went wrong."""

    seen: str
    needs_person: bool = False


Proof = Proven | NotYet | Contradicted


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A person's word about one step: `go` lets metalwright begin it, `done` says that hands did this attempt of it."""

    order: OrderNumber
    step: int
    attempt: int
    says: Literal["go", "done"]
    by: str
    at: Instant
    note: str = ""


# -- operations: long work that turns start, read and cancel ------------------------------------------------------------------


class OperationState(StrEnum):
    ORDERED = "ordered"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One long piece of work on a host (here: the node's agent)."""

    id: OperationId
    subject: Subject
    step: Step
    state: OperationState
    generation: int
    """Epoch of the worker that ordered it; the agent refuses an older one."""
    ordered_at: Instant
    deadline_at: Instant
    units_done: int = 0
    units_total: int = 0
    heartbeat_at: Instant | None = None
    checkpoint: str = ""
    cancel_wanted: bool = False
    detail: str = ""


# -- why things wait ----------------------------------------------------------------------------------------------------------


class Wait(StrEnum):
    """Kinds of waiting; each has an expected time, and longer is overdue."""

    OBSERVATION = "observation"
    BMC = "bmc"
    PERMIT = "permit"
    RAM_DISK = "ram-disk"
    IMAGE = "image"
    INSTALLED = "installed"
    RETRY = "retry"
    PERSON = "person"
    SITE = "site"
    """A gate of the site (plan) is not open."""
    LIMIT = "limit"
    """`--until` says to stop here."""


EXPECTED_S: dict[Wait, float] = {
    Wait.OBSERVATION: 180.0,
    Wait.BMC: 300.0,
    Wait.PERMIT: 3600.0,
    Wait.RAM_DISK: 600.0,
    Wait.IMAGE: 3600.0,
    Wait.INSTALLED: 900.0,
    Wait.RETRY: 300.0,
    Wait.PERSON: 86400.0,
    Wait.SITE: 86400.0,
    Wait.LIMIT: float("inf"),
}
"""Longer than a slow healthy server takes, shorter than a person's patience: a DGX H100 needs 5 to 8 minutes from reset to a
booted kernel, so RAM_DISK is 600 s; less would call healthy machines overdue, more would hide dead ones for a shift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFor:
    """Why a node does not move now."""

    wait: Wait
    text: str
    since: Instant
    overdue: bool = False
