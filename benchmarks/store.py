"""CPU of the store per node: record, load and commit of one turn, for batches of 10, 100 and 1,000 nodes.

    python -m benchmarks.store                                  # SQLite in a temporary folder
    python -m benchmarks.store --url postgresql://user@host/db  # an empty PostgreSQL database

Every node has the inventory of a DGX H100 as two witnesses see it (about 45 kB of JSON), a power look and a boot look. CPU is this
process' own (with SQLite that includes the database); wall time and statements are printed beside it. `load cold` parses every
inventory, as after a start; `load warm` finds them in memory, as every later turn does.
"""

import argparse
import asyncio
import resource
import tempfile
import time
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import event
from sqlalchemy.engine import Engine

from metalwright.codec.json_codec import to_bytes
from metalwright.model.boot import BootGrant
from metalwright.model.evidence import PendingStatement
from metalwright.model.hardware import BootTarget, Gpu, HardwareFacts, Identity, Nic, NvLink, PciDevice, PcieLink, PowerState
from metalwright.model.ids import CheckId, Digest, NodeName, OperationId, OrderNumber, RackName, Subject, WorkerId, node_subject
from metalwright.model.judgement import Cited, Colour, Finding, Gate, GateVerdict, Result
from metalwright.model.observation import Body, BootSeen, HardwareSeen, Kind, Observation, PowerSeen, Witness
from metalwright.model.spec import BmcSecrets, NodeSpec, Secrets, SiteIdentity, SiteSpec, StoredSpec
from metalwright.model.units import SecretRef
from metalwright.model.work import (
    BootRamDisk,
    Operation,
    OperationState,
    OrderBody,
    StepRun,
    StepState,
    Wait,
    WaitingFor,
    WorkOrder,
    WriteImage,
)
from metalwright.ports import Fence, NodeChange, NodeRows
from metalwright.store import SqlStore, open_store

T = TypeVar("T")
NOW = 1_700_000_000.0


@dataclass
class Costs:
    """CPU ms and wall ms per node, and statements, by stage."""

    nodes: int
    rows: list[tuple[str, float, float, int]] = field(default_factory=list)

    async def of(self, stage: str, work: Awaitable[T]) -> T:
        cpu, wall = time.process_time(), time.perf_counter()
        with _counting() as sent:
            result = await work
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        self.rows.append((stage, cpu * 1e3 / self.nodes, wall * 1e3 / self.nodes, len(sent)))
        return result

    def __str__(self) -> str:
        lines = [f"{self.nodes:>6}  {stage:<12} {cpu:>8.3f} {wall:>9.3f} {sent:>10}" for stage, cpu, wall, sent in self.rows]
        return "\n".join(lines)


@contextmanager
def _counting() -> Iterator[list[str]]:
    sent: list[str] = []

    def note(connection: Any, cursor: Any, text: str, *rest: Any) -> None:
        sent.append(text)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def measure(url: str, nodes: int) -> Costs:
    """One turn of that many nodes of one rack."""
    costs = Costs(nodes)
    names = [NodeName(f"b{nodes}-{number:05}") for number in range(nodes)]
    subjects = [node_subject(name) for name in names]
    looks = [look for subject in subjects for look in _looks(subject, NOW)]
    later = [look for subject in subjects for look in _looks(subject, NOW + 30.0)]
    first = await _open(url)
    await costs.of("adopt", first.adopt_spec(_spec(names), NOW))
    fence = next(one for one in await first.claim(WorkerId("bench"), 3600.0) if one.shard == "r1")
    await costs.of("record new", first.record(looks, fence))
    await costs.of("record same", first.record(later, fence))
    await first.close()
    store = await _open(url)
    await store.due(["r1"], NOW, 1)
    await costs.of("load cold", store.load(subjects))
    rows = await costs.of("load warm", store.load(subjects))
    numbers = await costs.of("numbers", store.next_order_numbers(nodes))
    changes = [_change(one, number) for one, number in zip(rows, numbers, strict=True)]
    lost = await costs.of("commit", store.commit(changes, fence))
    assert not lost  # a benchmark of refused commits would be a lie
    await costs.of("turn again", _idle_turn(store, subjects, fence))
    await costs.of("board", store.board())
    await store.release(WorkerId("bench"))
    await store.close()
    return costs


async def _open(url: str) -> SqlStore:
    store = open_store(url)
    await store.open()
    return store


async def _idle_turn(store: SqlStore, subjects: Sequence[Subject], fence: Fence) -> None:
    """Most turns: everything is read, nothing but the waiting is written."""
    rows = await store.load(subjects)
    waiting = WaitingFor(wait=Wait.IMAGE, text="writing the image", since=NOW)
    await store.commit([NodeChange(subject=one.subject, next_due_at=NOW + 90.0, wakes=one.wakes, waiting=waiting) for one in rows], fence)


def _spec(names: Sequence[NodeName]) -> StoredSpec:
    nodes = tuple(
        NodeSpec(
            name=name,
            rack=RackName("r1"),
            unit=1,
            profile="dgx-h100",
            serial=f"S{name}",
            bmc="https://10.0.0.1",
            boot_mac="02:00:00:00:00:01",
        )
        for name in names
    )
    secrets = Secrets(bmc=BmcSecrets(user=SecretRef("env:USER"), password=SecretRef("env:PASSWORD")))
    site = SiteSpec(metalwright=1, site=SiteIdentity(name="bench"), racks=(), profiles={}, nodes=nodes, secrets=secrets)
    return StoredSpec(digest=f"sha256:bench-{len(names)}", spec=site, profiles={})


def _looks(subject: Subject, at: float) -> list[Observation]:
    """What both witnesses say of one node."""
    power = PowerSeen(power=PowerState.ON, boot_target=BootTarget.NONE, boot_once=False, identity_serial=f"S{subject}")
    boot = BootSeen(boot_id=f"b{subject}", stage="ram", token_order=1, claimed_at=NOW, last_contact_at=NOW, system_serial=f"S{subject}")
    bodies: list[tuple[Kind, Witness, Body]] = [
        (Kind.BMC_POWER, Witness.OUT_OF_BAND, power),
        (Kind.BMC_HARDWARE, Witness.OUT_OF_BAND, HardwareSeen(facts=_dgx(subject, 0))),
        (Kind.AGENT_HARDWARE, Witness.RAM_DISK, HardwareSeen(facts=_dgx(subject, 150))),
        (Kind.AGENT_BOOT, Witness.RAM_DISK, boot),
    ]
    return [Observation(subject=subject, kind=kind, witness=witness, seen_at=at, body=body) for kind, witness, body in bodies]


def _dgx(subject: Subject, pci: int) -> HardwareFacts:
    """Eight GPUs with 18 NVLinks each; with `pci` functions when seen in-band."""
    link = PcieLink(generation=5, width=16, max_generation=5, max_width=16)
    return HardwareFacts(
        identity=Identity(system_serial=f"S{subject}", uuid="0" * 36, manufacturer="NVIDIA", model="DGXH100"),
        memory_mib=2_097_152,
        gpus=tuple(Gpu(index=n, name=f"GPU_SXM_{n}", model="H100", serial=f"{subject}{n}", memory_mib=81_559, pcie=link) for n in range(8)),
        nvlinks=tuple(
            NvLink(gpu=n, port=p, state="up", gbps=212.5, peer=f"NVSwitch_{p % 4}:{p}", peer_agrees=True)
            for n in range(8)
            for p in range(18)
        ),
        nics=tuple(
            Nic(name=f"mlx5_{n}", serial=f"N{n}", macs=("02:00:00:00:00:02",), rate_gbps=400.0, rdma=True, pcie=link) for n in range(10)
        ),
        pci=tuple(
            PciDevice(address=f"0000:{n:02x}:00.0", vendor="10de", device="2330", device_class="030200", pcie=link) for n in range(pci)
        ),
    )


def _change(rows: NodeRows, number: int) -> NodeChange:
    """A busy turn: a new order with its run, operation and grant, two verdicts of 30 findings, a statement."""
    subject = rows.subject
    verdicts = tuple(_verdict(rows, gate) for gate in (Gate.INVENTORY, Gate.OS))
    body = OrderBody(
        subject=subject, goal=Gate.OS, wish_digest=Digest("sha256:wish"), round=1, reason="not installed yet",
        steps=(BootRamDisk(serial="S"), WriteImage(serial="S", disk_serial="D", image="trainer@1")),
    )  # fmt: skip
    identity = f"{number}/0/1"
    return NodeChange(
        subject=subject, next_due_at=NOW + 60.0, wakes=rows.wakes,
        order=WorkOrder(number=OrderNumber(number), parent=None, site_plan=1, digest=Digest(f"sha256:{number}"), made_at=NOW, body=body),
        runs=(StepRun(order=OrderNumber(number), index=0, attempt=1, state=StepState.INTENDED, began_at=NOW, baseline={"boot_id": "x"}),),
        operations=(
            Operation(id=OperationId(identity), subject=subject, step=WriteImage(serial="S"), state=OperationState.ORDERED, generation=1,
                      ordered_at=NOW, deadline_at=NOW + 3600.0),
        ),
        grants=(
            BootGrant(id=identity, node=NodeName(subject), order=OrderNumber(number), stage="ram", token_hash=f"sha256:{number:064}",
                      opens_at=NOW, expires_at=NOW + 600.0),
        ),
        verdicts=verdicts,
        verdict_digests={verdict.gate: Digest(f"sha256:{verdict.gate}") for verdict in verdicts},
        statements=(
            PendingStatement(key=f"gate/{subject}/{number}", kind="gate", subjects=((subject, "ab" * 32),), made_at=NOW, about=subject,
                             predicate={"findings": _words(verdicts[0])}),
        ),
        waiting=WaitingFor(wait=Wait.BMC, text="power on", since=NOW),
    )  # fmt: skip


def _verdict(rows: NodeRows, gate: Gate) -> GateVerdict:
    findings = tuple(
        Finding(
            check=CheckId(f"gpu.check{n}"), subject=rows.subject, result=Result.PASS, expected="8 GPUs", seen="8 GPUs", source="profile"
        )
        for n in range(30)
    )
    cited = tuple(
        Cited(subject=look.subject, kind=look.kind, witness=look.witness, digest=look.digest or Digest(""), seen_at=look.seen_at)
        for look in rows.observations
    )
    return GateVerdict(gate=gate, subject=rows.subject, colour=Colour.GREEN, findings=findings, cited=cited)


def _words(verdict: GateVerdict) -> list[dict[str, str]]:
    return [{"check": finding.check, "result": finding.result} for finding in verdict.findings]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="an empty database; default: SQLite in a temporary folder")
    parser.add_argument("--n", type=int, nargs="+", default=[10, 100, 1000])
    options = parser.parse_args()
    size = len(to_bytes(HardwareSeen(facts=_dgx(Subject("node:x"), 150))))
    print(f"an inventory seen in-band: {size / 1e3:.0f} kB of JSON")
    print(f"{'nodes':>6}  {'stage':<12} {'CPU ms':>8} {'wall ms':>9} {'statements':>10}   (ms per node)")
    for nodes in options.n:
        with tempfile.TemporaryDirectory() as folder:
            print(asyncio.run(measure(options.url or f"sqlite:///{folder}/site.db", nodes)))
        print(f"        memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB so far")


if __name__ == "__main__":
    main()
