"""The outside world, as metalwright needs it. One protocol per thing, at most five methods each.

Whoever implements one (drivers, the simulator, the store) converts every foreign error at its border: only
`model.errors` come out of these calls. Every call has a hard total deadline of its own, shorter than a lease.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from metalwright.evidence.sequence import Batch, Signer
from metalwright.model.agent_messages import BootArguments, RawInventory
from metalwright.model.bmc_actions import BmcSetting
from metalwright.model.boot import BootGrant
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.ids import Digest, Instant, NodeName, OrderNumber, Subject, WorkerId
from metalwright.model.image import BuiltImage
from metalwright.model.judgement import Colour, Gate, GateVerdict
from metalwright.model.observation import Kind, Observation
from metalwright.model.spec import NodeSpec, StoredSpec
from metalwright.model.work import Operation, Permit, SitePlan, StepRun, WaitingFor, WorkOrder


class Clock(Protocol):
    """Time of the collector."""

    def now(self) -> Instant: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


# -- BMC -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPower:
    """`on`, `off` (forced), `shutdown` (asked of the OS), `reset` (warm or cold start, from any state to on).

    Level actions (`on`, `off`) re-read first and do nothing when reached; `reset` always acts.
    """

    to: Literal["on", "off", "shutdown", "reset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBoot:
    """Where the next start (`once`) or every start goes. `path` tells PXE from UEFI HTTP for `NETWORK`."""

    target: BootTarget
    once: bool
    path: str = "uefi-http"
    http_uri: str | None = None
    """URI for UEFI HTTP, where the BMC can take one; None leaves it to DHCP."""


BmcAction = SetPower | SetBoot | BmcSetting


class Bmc(Protocol):
    """One BMC, one session. Every write first re-reads the system serial and refuses (MachineFault) on a difference."""

    async def read(self, kind: Kind) -> Observation:
        """One look. Never raises for what the BMC does wrong: the failure is inside the observation."""
        ...

    async def act(self, action: BmcAction) -> None:
        """Do it. TemporaryError: try later; MachineFault: a person. Returning proves nothing: read again."""
        ...

    async def close(self) -> None:
        """End the session on the BMC; never raises."""
        ...


class BmcFactory(Protocol):
    def open(self, node: NodeSpec) -> Bmc:
        """A driver for this node's BMC. Opens no connection yet."""
        ...


# -- machines behind a BMC (simulated or QEMU), and what they run ---------------------------------------------------------------


class Machine(Protocol):
    """What a simulated BMC controls: a pretended server or a QEMU process. Its Redfish face is the same for both."""

    async def power(self) -> PowerState: ...
    async def set_power(self, to: Literal["on", "off", "shutdown", "reset"]) -> None: ...
    async def set_boot(self, target: BootTarget, once: bool) -> None: ...
    async def boot(self) -> tuple[BootTarget, bool]: ...


class DiskPort(Protocol):
    """One disk as the agent uses it. Synchronous: the agent calls it from threads."""

    size_bytes: int

    def write(self, offset: int, data: bytes) -> None: ...
    def read(self, offset: int, length: int) -> bytes: ...
    def discard(self, offset: int, length: int) -> None:
        """Tell the drive that nothing is needed there: zeros afterwards where it can, the old bytes where it cannot."""
        ...

    def flush(self) -> None: ...
    def close(self) -> None: ...


class BootedMachine(Protocol):
    """The agent's view of the machine it runs on: the real one in the RAM disk, or a simulated one."""

    def describe(self) -> Mapping[str, str]:
        """`boot_id`, `system_serial`, `uuid`, `kernel`, `hostname`, `root_disk_serial` (empty in the RAM disk)."""
        ...

    def collect(self) -> RawInventory: ...
    def open_disk(self, serial: str) -> DiskPort:
        """The disk with that serial; KeyError when there is none."""
        ...

    def decompress(self, stored: bytes, length: int) -> bytes: ...


class NodeProgram(Protocol):
    """What a machine runs once booted. The simulator is given the real agent here, so that both talk the same words."""

    async def run(self, machine: BootedMachine, arguments: BootArguments) -> None:
        """Until cancelled (power off, reset)."""
        ...


# -- images --------------------------------------------------------------------------------------------------------------------


class ImageStore(Protocol):
    """Built images of a site."""

    def find(self, name_and_version: str) -> BuiltImage:
        """`trainer@2026.11`; InputError when it is not built, altered or unreadable, with a hint."""
        ...

    def manifest_bytes(self, digest: Digest) -> bytes: ...
    def blob_path(self, digest: Digest) -> str: ...


# -- the store -----------------------------------------------------------------------------------------------------------------


SITE_SHARD = "@site"
"""The shard of the site's own turn; every other shard is a rack's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """The right to write for a shard (rack): refused with FencedError once another worker has a later epoch."""

    shard: str
    worker: WorkerId
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictMark:
    """The last recorded verdict of a gate: the digest of its content, and its colour."""

    digest: Digest
    colour: Colour


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRows:
    """Everything stored about one node that a turn needs. Read in one transaction for a whole batch."""

    subject: Subject
    observations: tuple[Observation, ...]
    order: WorkOrder | None
    runs: tuple[StepRun, ...]
    operations: tuple[Operation, ...]
    grants: tuple[BootGrant, ...]
    """Like `runs` and `operations`: those of the head order, oldest first."""
    rounds: Mapping[tuple[Gate, Digest], int]
    """Work orders made, by goal and wish digest (`OrderBody.goal`, `OrderBody.wish_digest`)."""
    permit: Permit | None
    verdicts: Mapping[Gate, VerdictMark]
    """Last recorded verdict per gate: a statement is made only when its digest changes."""
    waiting: WaitingFor | None
    paused: bool
    """The last word on the subject, its rack or the site is `pause`."""
    wakes: int
    """How often something was recorded for this subject: hand it back in `NodeChange.wakes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """What one turn decided for one node; all of a batch is committed in one transaction, or none of it."""

    subject: Subject
    next_due_at: Instant
    wakes: int | None = None
    """`NodeRows.wakes` as loaded. When something was recorded since, the subject stays due; None overwrites `next_due_at` blindly."""
    order: WorkOrder | None = None
    """A new head; refused (nothing written for this subject) unless `order.parent` is the present head."""
    runs: tuple[StepRun, ...] = ()
    """Inserted or overwritten by (order, index, attempt)."""
    operations: tuple[Operation, ...] = ()
    """Inserted if new; of an existing one only `cancel_wanted` and `generation` are taken."""
    grants: tuple[BootGrant, ...] = ()
    """Inserted if new; never overwritten."""
    verdicts: tuple[GateVerdict, ...] = ()
    verdict_digests: Mapping[Gate, Digest] | None = None
    """Digest of each of `verdicts`, by gate."""
    statements: tuple[PendingStatement, ...] = ()
    waiting: WaitingFor | None = None
    keep_waiting: bool = False
    """Leave the stored `waiting` as it is: the outcome of an act says nothing about it."""
    release_permit: bool = False


class SpecStore(Protocol):
    """Specs by digest, and the site's own row."""

    async def adopt_spec(self, spec: StoredSpec, now: Instant) -> None:
        """Store it and make it current; subjects that are new get rows, those that left are kept but not turned."""
        ...

    async def current_spec(self) -> StoredSpec | None: ...
    async def site_plan(self) -> SitePlan | None: ...
    async def put_site_plan(self, plan: SitePlan) -> bool:
        """False when `plan.parent` is not the present one."""
        ...


class TurnStore(Protocol):
    """What turns read and write."""

    async def due(self, shards: Sequence[str], now: Instant, limit: int) -> Sequence[tuple[str, Subject]]: ...
    async def load(self, subjects: Sequence[Subject]) -> Sequence[NodeRows]: ...
    async def commit(self, changes: Sequence[NodeChange], fence: Fence) -> Sequence[Subject]:
        """One transaction; returns the subjects whose order lost the compare-and-swap."""
        ...

    async def record(self, observations: Sequence[Observation], fence: Fence | None) -> None:
        """Newer looks replace older; bodies are content-addressed and rewritten only when changed; wakes the subjects."""
        ...

    async def next_order_numbers(self, count: int) -> range: ...


class LeaseStore(Protocol):
    """Racks are shards; a worker holds one by a lease row with an epoch. Times are the database's."""

    async def claim(self, worker: WorkerId, lease_s: float) -> Sequence[Fence]:
        """Renew this worker's leases and take free or expired ones up to the fair share, in one short transaction. What is above
        the share is not renewed and ends by itself: it is not in the answer, and this worker begins nothing there any more."""
        ...

    async def release(self, worker: WorkerId) -> None: ...
    async def database_now(self) -> Instant: ...
    async def failover_gap(self) -> str:
        """Why a failover of the database could lose what was acknowledged, in words; empty where it cannot, or where there is none."""
        ...


class PermitStore(Protocol):
    """Granted only by the site's turn."""

    async def wanted(self) -> Sequence[tuple[Subject, OrderNumber]]: ...
    async def granted(self) -> Sequence[Permit]: ...
    async def grant(self, permits: Sequence[Permit]) -> None: ...


class EndpointStore(Protocol):
    """What the endpoints read and write; they hold no lease, so they only touch boot grants, operations and observations."""

    async def grants_of(self, node: NodeName) -> Sequence[BootGrant]: ...
    async def claim_grant(self, token_hash: str, claimed: BootGrant, now: Instant) -> BootGrant | None:
        """Set the claim fields of the open grant with that hash, in one transaction. A second claim counts a conflict and
        revokes; the same claim again (same `session_hash`) is a lost answer and changes nothing. The row is returned as it is
        after: the claimer has a session when the row's `session_hash` is its own and the row is not revoked. None: no such token."""
        ...

    async def session(self, session_hash: str) -> BootGrant | None:
        """The claimed grant of that session; None when there is none or it was revoked."""
        ...

    async def operation_for(self, node: NodeName) -> Operation | None:
        """The open operation (ordered or running) of the node's present order; else one that still runs for an older order, so that
        its agent hears that it is no longer wanted."""
        ...

    async def progress(self, operation: Operation, boot_id: str) -> None:
        """Overwrite the progress fields; ignored when the stored generation is newer or the operation has ended already."""
        ...


class EvidenceStore(Protocol):
    """Pending statements become log entries; one sequencer at a time."""

    async def pending(self, limit: int) -> Sequence[PendingStatement]: ...
    async def append(self, entries: Sequence[LogEntry], checkpoint: Checkpoint, previous_size: int) -> bool:
        """Move them from pending to the log in one transaction; False when the log's size is not `previous_size`."""
        ...

    async def size(self) -> int: ...
    async def entries(self, start: int, end: int) -> Sequence[LogEntry]: ...
    async def checkpoint(self) -> Checkpoint | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asked: `pause`, `resume`, `waive`, `approve`, `confirm`. Appended by anyone, read by turns.

    `waive` and `approve` carry a signed paper, verified by whoever reads it."""

    id: int
    kind: str
    subject: Subject
    body: Mapping[str, str]
    made_at: Instant


class RequestStore(Protocol):
    async def ask(self, kind: str, subject: Subject, body: Mapping[str, str], now: Instant) -> int: ...
    async def asked(self, after: int) -> Sequence[Request]: ...


class ViewStore(Protocol):
    """What status, explain and pages read."""

    async def board(self) -> Sequence["BoardRow"]: ...
    async def node(self, subject: Subject) -> NodeRows | None: ...
    async def verdicts(self, subject: Subject) -> Sequence[GateVerdict]: ...
    async def orders(self, subject: Subject) -> Sequence[WorkOrder]: ...
    async def body(self, digest: Digest) -> bytes | None:
        """The stored bytes of an observation, for judging cited evidence again; None when nobody needed them any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """One line of the gate board."""

    subject: Subject
    shard: str
    colours: Mapping[Gate, str]
    order: OrderNumber | None
    waiting: WaitingFor | None
    operation: Operation | None
    red: str = ""
    """The first failing finding, in words."""


class Store(SpecStore, TurnStore, LeaseStore, PermitStore, EndpointStore, EvidenceStore, RequestStore, ViewStore, Protocol):
    """All of it: what `store/` implements, on SQLite and PostgreSQL alike."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    def changes(self) -> AsyncIterator[Subject]:
        """Hints that something changed (NOTIFY, or in-process); polling stays the truth."""
        ...


class LogSigner(Signer, Protocol):
    """Holds the log key, and outside the database the memory of what it last signed."""

    def last_signed(self) -> Batch:
        """The newest batch this key signed, whole, so that it can be put into the database again."""
        ...

    def remember(self, batch: Batch) -> bool:
        """Durable before it returns True; called before the database commits. False when another batch was signed meanwhile."""
        ...
