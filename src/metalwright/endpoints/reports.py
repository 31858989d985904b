"""What agents say → observations and progress. Their raw texts are parsed here, on our side."""

from dataclasses import dataclass, field

from metalwright.model.agent_messages import MeasuredSystem, Progress, RawInventory, Report, WrittenImage
from metalwright.model.boot import BootGrant
from metalwright.model.ids import Digest, Instant, OperationId, node_subject
from metalwright.model.observation import (
    Body,
    BootClaimsSeen,
    BootSeen,
    DiskImageSeen,
    HardwareSeen,
    Kind,
    Observation,
    SystemImageSeen,
    Witness,
)
from metalwright.model.work import Operation, OperationState, WriteImage
from metalwright.ports import Clock, EndpointStore, TurnStore
from metalwright.readers.sysfs import hardware_from_raw

CONTACT_S = 10.0
"""A contact is written down at most this often: a thousand polling agents must not become a thousand writes a second."""
STAGES = {"ram": Witness.RAM_DISK, "installed": Witness.RUNNING_SYSTEM}


@dataclass(slots=True)
class _Known:
    """What this process remembers of a session: which boot spoke, since when, and when that was last written down."""

    boot_id: str
    claimed_at: Instant
    written_at: Instant = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDesk:
    """Holds no truth: what it remembers only saves writes."""

    endpoint: EndpointStore
    turns: TurnStore
    clock: Clock
    _known: dict[str, _Known] = field(default_factory=dict)

    async def claimed(self, grant: BootGrant) -> None:
        """A claim was made: record the boot (unless it was revoked) and the count of claims."""
        observations = [await self._claims(grant)]
        if not grant.revoked and grant.session_hash:
            known = _Known(boot_id=grant.boot_id or "", claimed_at=grant.claimed_at or self.clock.now())
            self._known[grant.session_hash] = known
            observations.append(self._boot(grant, known))
        await self.turns.record(observations, None)

    async def contact(self, grant: BootGrant) -> None:
        """The agent is there. A poll does not say from which boot: it is the one that this session last spoke of."""
        known = await self._session(grant, "")
        if self.clock.now() - known.written_at >= CONTACT_S:
            await self.turns.record([self._boot(grant, known)], None)

    async def take(self, grant: BootGrant, report: Report) -> None:
        """Everything one report says, in one write."""
        known = await self._session(grant, report.boot_id)
        bodies: list[tuple[Kind, Body]] = []
        if report.inventory is not None:
            bodies.append((Kind.AGENT_HARDWARE, _hardware(report.inventory)))
        if report.written is not None:
            bodies.append((Kind.DISK_IMAGE, _written(report.written)))
        if report.measured is not None:
            bodies.append((Kind.SYSTEM_IMAGE, _measured(report.measured)))
        observations = [self._observation(grant, kind, body) for kind, body in bodies]
        if observations or self.clock.now() - known.written_at >= CONTACT_S:
            observations.insert(0, self._boot(grant, known))
        if observations:
            await self.turns.record(observations, None)
        if report.progress is not None:
            await self._progress(grant, report.progress)

    async def _progress(self, grant: BootGrant, progress: Progress) -> None:
        """Only of this node's own open operation; generations are compared by the store."""
        operation = await self.endpoint.operation_for(grant.node)
        if operation is None or operation.id != progress.operation or progress.state not in set(OperationState):
            return
        seen = Operation(
            id=OperationId(progress.operation),
            subject=node_subject(grant.node),
            step=operation.step if isinstance(operation.step, WriteImage) else WriteImage(),
            state=OperationState(progress.state),
            generation=progress.generation,
            ordered_at=operation.ordered_at,
            deadline_at=operation.deadline_at,
            units_done=max(0, progress.units_done),
            units_total=max(0, progress.units_total),
            heartbeat_at=self.clock.now(),
            checkpoint=progress.checkpoint[:4096],
            detail=progress.detail[:1024],
        )
        await self.endpoint.progress(seen, grant.boot_id or "")

    async def _session(self, grant: BootGrant, boot_id: str) -> _Known:
        """A session that speaks from another boot id was rebooted: that boot began now, unless an observation already knows it.

        `boot_id` is empty when the agent did not say it.
        """
        key = grant.session_hash or ""
        known = self._known.get(key)
        if known is None or (boot_id and known.boot_id != boot_id):
            known = await self._recall(grant, boot_id)
            self._known[key] = known
        return known

    async def _recall(self, grant: BootGrant, boot_id: str) -> _Known:
        witness = STAGES.get(grant.stage, Witness.RAM_DISK)
        for row in await self.turns.load([node_subject(grant.node)]):
            for look in row.observations:
                if (
                    look.kind is Kind.AGENT_BOOT
                    and look.witness is witness
                    and isinstance(look.body, BootSeen)
                    and look.body.token_order == grant.order
                    and boot_id in ("", look.body.boot_id)
                ):
                    return _Known(boot_id=look.body.boot_id, claimed_at=look.body.claimed_at)
        return _Known(boot_id=boot_id or grant.boot_id or "", claimed_at=self.clock.now())

    def _boot(self, grant: BootGrant, known: _Known) -> Observation:
        known.written_at = self.clock.now()
        body = BootSeen(
            boot_id=known.boot_id,
            stage=grant.stage,
            token_order=grant.order,
            claimed_at=known.claimed_at,
            last_contact_at=known.written_at,
            system_serial=grant.system_serial,
            uuid=grant.uuid,
            kernel=grant.kernel,
            agent_version=grant.agent_version,
        )
        return self._observation(grant, Kind.AGENT_BOOT, body)

    async def _claims(self, grant: BootGrant) -> Observation:
        grants = await self.endpoint.grants_of(grant.node)
        conflicts = sum(each.conflicts for each in grants)
        detail = f"grant {grant.id} was claimed by two" if grant.conflicts else ""
        body = BootClaimsSeen(claims=sum(each.claimed_at is not None for each in grants), conflicts=conflicts, detail=detail)
        return Observation(
            subject=node_subject(grant.node), kind=Kind.BOOT_CLAIMS, witness=Witness.ENDPOINT, seen_at=self.clock.now(), body=body
        )

    def _observation(self, grant: BootGrant, kind: Kind, body: Body) -> Observation:
        witness = STAGES.get(grant.stage, Witness.RAM_DISK)
        return Observation(subject=node_subject(grant.node), kind=kind, witness=witness, seen_at=self.clock.now(), body=body)


def _hardware(raw: RawInventory) -> HardwareSeen:
    return HardwareSeen(facts=hardware_from_raw(raw))


def _written(written: WrittenImage) -> DiskImageSeen:
    return DiskImageSeen(
        image_digest=Digest(written.image_digest),
        disk_serial=written.disk_serial,
        frames_total=written.frames_total,
        frames_verified=written.frames_verified,
        mismatches=written.mismatches,
        operation=written.operation,
    )


def _measured(measured: MeasuredSystem) -> SystemImageSeen:
    return SystemImageSeen(
        image_digest=Digest(measured.image_digest),
        root_disk_serial=measured.root_disk_serial or None,
        frames_measured=measured.frames_measured,
        mismatches=measured.mismatches,
        kernel=measured.kernel,
        hostname=measured.hostname,
    )
