"""A toy site for the store's tests: nouns with short names, an open store, a counter of statements."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from metalwright.codec.json_codec import digest_of
from metalwright.model.boot import BootGrant
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.model.hardware import BootTarget, HardwareFacts, Identity, PowerState
from metalwright.model.ids import CheckId, Digest, NodeName, OperationId, OrderNumber, RackName, Subject, WorkerId, node_subject
from metalwright.model.judgement import Cited, Colour, Finding, Gate, GateVerdict, Result
from metalwright.model.observation import HardwareSeen, Kind, Observation, PowerSeen, Witness
from metalwright.model.spec import BmcSecrets, NodeSpec, Secrets, SiteIdentity, SiteSpec, StoredSpec
from metalwright.model.units import SecretRef
from metalwright.model.work import Operation, OperationState, OrderBody, StepRun, StepState, WaitingFor, WorkOrder, WriteImage
from metalwright.ports import Fence, NodeChange
from metalwright.store import SqlStore, open_store

NOW = 1_700_000_000.0
TEST_LIMIT_S = 120.0


def run_coroutine_test(item: pytest.Function) -> bool | None:
    """For `pytest_pyfunc_call`: an `async def` test runs in an event loop of its own, within a time limit."""
    if not inspect.iscoroutinefunction(item.obj):
        return None
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}

    async def limited() -> None:
        async with asyncio.timeout(TEST_LIMIT_S):
            await item.obj(**arguments)

    asyncio.run(limited())
    return True


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[SqlStore]:
    store = open_store(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def site_at(url: str, *, racks: int = 1, nodes: int = 2) -> AsyncIterator[SqlStore]:
    """An open store with an adopted spec of `racks` × `nodes`."""
    async with opened(url) as store:
        await store.adopt_spec(spec(racks=racks, nodes=nodes), NOW)
        yield store


async def fence_of(store: SqlStore, shard: str = "r0", *, worker: str = "w1", lease_s: float = 60.0) -> Fence:
    fences = await store.claim(WorkerId(worker), lease_s)
    return next(fence for fence in fences if fence.shard == shard)


def spec(*, racks: int = 1, nodes: int = 2, digest: str = "sha256:spec") -> StoredSpec:
    """Nodes `a0-0`, `a0-1` … in rack `r0`, `a1-0` … in `r1`."""
    made = tuple(node_spec(f"a{rack}-{unit}", f"r{rack}") for rack in range(racks) for unit in range(nodes))
    return spec_with(made, digest=digest)


def spec_with(nodes: tuple[NodeSpec, ...], *, digest: str = "sha256:spec") -> StoredSpec:
    secrets = Secrets(bmc=BmcSecrets(user=SecretRef("env:USER"), password=SecretRef("env:PASSWORD")))
    site = SiteSpec(metalwright=1, site=SiteIdentity(name="atlas"), racks=(), profiles={}, nodes=nodes, secrets=secrets)
    return StoredSpec(digest=digest, spec=site, profiles={})


def node_spec(name: str, rack: str) -> NodeSpec:
    return NodeSpec(name=NodeName(name), rack=RackName(rack), unit=1, profile="compute", serial=f"S-{name}", bmc="https://127.0.0.1",
                    boot_mac="02:00:00:00:00:01")  # fmt: skip


def node(name: str = "a0-0") -> Subject:
    return node_subject(NodeName(name))


def order(number: int, subject: Subject, *, parent: int | None = None, goal: Gate = Gate.OS, wish: str = "sha256:wish") -> WorkOrder:
    body = OrderBody(
        subject=subject, goal=goal, wish_digest=Digest(wish), round=1, steps=(WriteImage(serial="S", disk_serial="D"),), reason="a test"
    )
    return WorkOrder(
        number=OrderNumber(number), parent=None if parent is None else OrderNumber(parent), site_plan=1, digest=Digest(f"sha256:{number}"),
        made_at=NOW, body=body,
    )  # fmt: skip


def change(subject: Subject, **parts: Any) -> NodeChange:
    return NodeChange(subject=subject, next_due_at=parts.pop("next_due_at", NOW + 60.0), **parts)


def run(number: int, *, index: int = 0, attempt: int = 1, state: StepState = StepState.INTENDED, **parts: Any) -> StepRun:
    return StepRun(order=OrderNumber(number), index=index, attempt=attempt, state=state, began_at=NOW, **parts)


def operation(
    number: int, subject: Subject, *, generation: int = 1, state: OperationState = OperationState.ORDERED, **parts: Any
) -> Operation:
    return Operation(
        id=OperationId(parts.pop("id", f"{number}/0/1")), subject=subject, step=WriteImage(serial="S"), state=state, generation=generation,
        ordered_at=parts.pop("ordered_at", NOW), deadline_at=NOW + 3600.0, **parts,
    )  # fmt: skip


def grant(number: int, name: str = "a0-0", *, token: str = "token", **parts: Any) -> BootGrant:
    return BootGrant(
        id=parts.pop("id", f"{number}/0/1"), node=NodeName(name), order=OrderNumber(number), stage="ram", token_hash=token,
        opens_at=parts.pop("opens_at", NOW), expires_at=parts.pop("expires_at", NOW + 600.0), **parts,
    )  # fmt: skip


def claim_of(made: BootGrant, session: str) -> BootGrant:
    """What the listener knows of a claim."""
    return BootGrant(
        id=made.id, node=made.node, order=made.order, stage=made.stage, token_hash=made.token_hash, opens_at=made.opens_at,
        expires_at=made.expires_at, claimed_at=NOW + 1.0, boot_id=f"boot-{session}", session_hash=session, system_serial="S",
        last_contact_at=NOW + 1.0,
    )  # fmt: skip


def power(subject: Subject, *, at: float = NOW, to: PowerState = PowerState.ON, serial: str | None = None) -> Observation:
    body = PowerSeen(power=to, boot_target=BootTarget.NONE, boot_once=False, identity_serial=serial or f"S-{subject}")
    return Observation(subject=subject, kind=Kind.BMC_POWER, witness=Witness.OUT_OF_BAND, seen_at=at, body=body)


def hardware(subject: Subject, facts: HardwareFacts | None = None, *, at: float = NOW) -> Observation:
    body = HardwareSeen(facts=facts or HardwareFacts(identity=Identity(system_serial=f"S-{subject}")))
    return Observation(subject=subject, kind=Kind.BMC_HARDWARE, witness=Witness.OUT_OF_BAND, seen_at=at, body=body)


def verdict(
    subject: Subject, *, gate: Gate = Gate.INVENTORY, colour: Colour = Colour.GREEN, cites: tuple[Observation, ...] = ()
) -> GateVerdict:
    result = Result.FAIL if colour is Colour.RED else Result.PASS
    finding = Finding(check=CheckId("serial"), subject=subject, result=result, expected="S1", seen="S2")
    cited = tuple(
        Cited(subject=look.subject, kind=look.kind, witness=look.witness, digest=look.digest or Digest(""), seen_at=look.seen_at)
        for look in cites
    )
    return GateVerdict(gate=gate, subject=subject, colour=colour, findings=(finding,), cited=cited)


def judged(subject: Subject, made: GateVerdict, **parts: Any) -> NodeChange:
    return change(subject, verdicts=(made,), verdict_digests={made.gate: Digest(f"sha256:{made.colour}")}, **parts)


def statement(key: str, subject: Subject) -> PendingStatement:
    return PendingStatement(
        key=key, kind="gate", subjects=((str(subject), "ab" * 32),), predicate={"count": 1, "words": ["é", "\u2028"]}, made_at=NOW,
        about=subject,
    )  # fmt: skip


def entry(index: int, key: str, subject: Subject) -> LogEntry:
    return LogEntry(index=index, key=key, kind="gate", about=subject, envelope=b"\x00\xff" + key.encode(), logged_at=NOW)


def checkpoint(size: int) -> Checkpoint:
    return Checkpoint(origin="atlas", size=size, root=digest_of(str(size).encode()), note=f"atlas\n{size}\n", made_at=NOW)


def waiting(wait: Any, *, since: float = NOW) -> WaitingFor:
    return WaitingFor(wait=wait, text="for a test", since=since)


@contextmanager
def counting_statements() -> Iterator[list[str]]:
    """Every statement sent to any database meanwhile; one `executemany` is one."""
    sent: list[str] = []

    def note(connection: Any, cursor: Any, text: str, *rest: Any) -> None:
        sent.append(text)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)
