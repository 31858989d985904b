"""Everything a turn may know about one subject: the input of judge, decide and prove. Nothing else is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalwright.model.ids import Digest, Instant, OrderNumber, Subject
from metalwright.model.image import BuiltImage
from metalwright.model.judgement import Colour, Gate, GateVerdict
from metalwright.model.observation import Kind, Observation, Witness
from metalwright.model.spec import HardwareProfile, NodeSpec, PurchaseLine, SiteSpec
from metalwright.model.work import Confirmation, Operation, Permit, SitePlan, StepRun, WaitingFor, WorkOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A verified waiver: the signature, role and namespace were checked before it came here."""

    check: str
    subject: Subject
    until: Instant
    by: str
    reason: str
    version: int
    """Of the check."""
    identity: str = ""
    """`sha256:` digest of the subject's identity document."""
    seen: str = "*"
    """What the signer saw: the finding's text, numbers perhaps as ranges; `*` is anything."""
    starts_at: Instant = 0.0
    digest: Digest | None = None
    """Of the signed paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCase:
    """One node at one moment."""

    now: Instant
    spec_digest: Digest
    wish_digest: Digest
    """Digest of what the spec wants of this node alone: another node's edit does not restart this one."""
    spec: SiteSpec
    node: NodeSpec
    profile: HardwareProfile
    parts: tuple[PurchaseLine, ...]
    """Lines of the purchase list that name this node's serial."""
    image: BuiltImage | None
    """The image that the spec orders for this node, if it is built."""
    image_problem: str = ""
    """Why there is no image: not built, altered, or none ordered."""
    site_plan: SitePlan | None = None
    site_verdict: GateVerdict | None = None
    """Verdict of the `plan` gate."""
    observations: Mapping[tuple[Kind, Witness], Observation] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    """Of this very machine: one for another identity document is left out."""
    order: WorkOrder | None = None
    """Head of this node's chain."""
    runs: tuple[StepRun, ...] = ()
    """Runs of the head order, oldest first."""
    operations: tuple[Operation, ...] = ()
    """Operations of the head order."""
    rounds: Mapping[Gate, int] = field(default_factory=dict)
    """Work orders already made for each goal under this wish."""
    standing: Mapping[Gate, Colour] = field(default_factory=dict)
    """Colour of the last recorded verdict per gate: undetermined neither advances nor regresses it."""
    permit: Permit | None = None
    confirmations: tuple[Confirmation, ...] = ()
    """What people said about the head order, oldest first."""
    paused: bool = False
    retry_asked_at: Instant = 0.0
    """When a person last said "try again": lifts a hold on failed work that is older."""
    epoch: int = 0
    """The deciding worker's lease epoch: written into what it orders."""
    observe_only: bool = False
    """A delivered site is looked at and judged: nothing is ordered, and an open order rests."""
    listening_since: Instant = 0.0
    """Since when this process hears agents: silence and deadlines count from then, for nobody could have told us before."""
    patience: float = 1.0
    """Multiplies every deadline and polling period: above 1 for emulated machines, below 1 for simulated ones."""
    waiting: WaitingFor | None = None
    """What the last turn said this node waits for."""

    def seen(self, kind: Kind, witness: Witness) -> Observation | None:
        """The latest look of that kind by that witness."""
        return self.observations.get((kind, witness))

    @property
    def head(self) -> OrderNumber | None:
        """Number of the current work order."""
        return self.order.number if self.order else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteCase:
    """The site at one moment: input of the `plan` gate and of the site's turn."""

    now: Instant
    spec_digest: Digest
    spec: SiteSpec
    profiles: Mapping[str, HardwareProfile]
    overrides: tuple[str, ...] = ()
    images: Mapping[str, BuiltImage] = field(default_factory=dict)
    """`name@version` → image, for images that are built and whole."""
    image_problems: Mapping[str, str] = field(default_factory=dict)
    site_plan: SitePlan | None = None
    until: Gate = Gate.OS
    waivers: tuple[Waiver, ...] = ()
