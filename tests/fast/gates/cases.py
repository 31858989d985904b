"""A healthy node with 8 × H100, seen by every witness, and ways to change one thing about it. Shared by tests of other folders."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from metalwright.gates.registry import find_check
from metalwright.model.case import NodeCase, SiteCase, Waiver
from metalwright.model.hardware import (
    BootTarget,
    Cpu,
    Dimm,
    Drive,
    Firmware,
    Gap,
    Gpu,
    HardwareFacts,
    Identity,
    Nic,
    NvLink,
    NvSwitch,
    PciDevice,
    PcieLink,
    PowerState,
)
from metalwright.model.ids import Digest, NodeName, OrderNumber, RackName, Subject, node_subject
from metalwright.model.image import BuiltImage, Frame, ImageManifest
from metalwright.model.observation import (
    Body,
    BootClaimsSeen,
    BootSeen,
    ConsoleWay,
    DiskImageSeen,
    HardwareSeen,
    HealthSeen,
    Kind,
    LeakSeen,
    Observation,
    PowerSeen,
    SystemImageSeen,
    Witness,
    XidSeen,
)
from metalwright.model.spec import (
    AcceptanceSpec,
    BmcSecrets,
    Capacity,
    Cooling,
    DiskLayout,
    Feed,
    FirmwareLine,
    HardwareProfile,
    ImageRecipe,
    NodeSpec,
    Objective,
    ProfileSpec,
    PurchaseLine,
    RackSpec,
    RetireData,
    RetirePolicy,
    Role,
    Secrets,
    SiteIdentity,
    SiteSpec,
    SystemSpec,
    Workload,
)

NOW = 1_800_000_000.0
SERIAL = "MW24H100001"
UUID = "4c4c4544-0051-3010-8052-b4c04f4d3231"
RAM_BOOT = "11111111-aaaa-4bbb-8ccc-000000000001"
INSTALLED_BOOT = "22222222-aaaa-4bbb-8ccc-000000000002"
IMAGE = Digest("sha256:" + "ab" * 32)
KERNEL = "6.1.0-28-amd64"
SYSTEM_DISK = "BOOT0001"
ORDER = OrderNumber(7)
OPERATION = "7/1/1"

PROFILE = HardwareProfile(
    name="hgx-h100-8",
    version=1,
    gpu_model="H100 80GB HBM3",
    gpus=8,
    nvswitches=4,
    nvlinks_per_gpu=18,
    nvlink_gbps=212.496,
    gpu_pcie_generation=5,
    gpu_pcie_width=16,
    gpu_memory_mib=81559,
    cpus=2,
    memory_gib=2048,
    nics=8,
    nic_rate_gbps=400,
    nvme=8,
    nvme_each_tb=3.84,
    max_watts=10200,
    source="vendor datasheet",
    date="2026-11-30",
)

NODE = NodeSpec(
    name=NodeName("atlas01"),
    rack=RackName("r01"),
    unit=10,
    profile="compute",
    serial=SERIAL,
    bmc="https://10.20.0.11",
    boot_mac="94:6d:ae:00:00:01",
    uuid=UUID,
)


def _purchase() -> tuple[PurchaseLine, ...]:
    lines = [PurchaseLine(part="HGX-H100-8", serial=SERIAL, kind="system", line=2)]
    lines += [PurchaseLine(part="H100-SXM5", serial=f"GPU{n:04d}", node_serial=SERIAL, kind="gpu", line=3 + n) for n in range(1, 9)]
    lines += [PurchaseLine(part="CX7", serial=f"NIC{n:04d}", node_serial=SERIAL, kind="nic", line=20 + n) for n in range(8)]
    lines += [PurchaseLine(part="cable", quantity=8, line=40)]
    return tuple(lines)


SPEC = SiteSpec(
    metalwright=1,
    site=SiteIdentity(name="atlas"),
    racks=(RackSpec(name=RackName("r01"), feeds=(Feed(name="A", kw=17.3), Feed(name="B", kw=17.3)), cooling=Cooling(kind="air", kw=30.0)),),
    profiles={"compute": ProfileSpec(base="hgx-h100-8")},
    nodes=(NODE,),
    secrets=Secrets(bmc=BmcSecrets(user="env:BMC_USER", password="file:secrets/bmc")),
    responsible={
        Role.DECLARE_LIVE: ("ops-lead@example.org",),
        Role.WAIVE: ("ops-lead@example.org",),
        Role.EXECUTE: ("dc-tech@example.org",),
        Role.OWN_DATA: ("data-owner@example.org",),
    },
    objectives=(Objective(name="training-goodput", at_least="0.90", over=2_592_000),),
    capacity=Capacity(workloads=(Workload(name="pretrain", kind="training", gpus=8),), tenancy="single", residency="CH"),
    purchase=_purchase(),
    firmware=(FirmwareLine(profile="compute", component="HGX_FW_BMC_0", version="HGX-22.10-1"),),
    system=SystemSpec(image="trainer@2026.11", disks=DiskLayout(system="smallest-nvme")),
    images=(ImageRecipe(name="trainer", version="2026.11", builder="synthetic"),),
    acceptance=AcceptanceSpec(use="standard", soak=43_200),
    retire=RetirePolicy(media="purge", keys="vault:transit/atlas", data=(RetireData(where="s3://ckpt/atlas", then="destroy"),)),
)

BUILT = BuiltImage(
    digest=IMAGE,
    manifest=ImageManifest(
        name="trainer",
        version="2026.11",
        builder="synthetic",
        size_bytes=16 << 20,
        blob_sha256="cd" * 32,
        frames=tuple(
            Frame(offset=n << 22, length=1 << 22, stored_offset=n << 10, stored_length=1 << 10, sha256=f"{n:064x}") for n in range(4)
        ),
        system_offset=0,
        system_length=8 << 20,
        kernel=KERNEL,
    ),
)


def bmc_facts() -> HardwareFacts:
    """The machine as Redfish shows it."""
    link = PcieLink(generation=1, width=16, max_generation=5, max_width=16)
    gpus = tuple(
        Gpu(index=n, name=f"GPU_SXM_{n}", model="NVIDIA H100 80GB HBM3", serial=f"GPU{n:04d}", memory_mib=81559, pcie=link)
        for n in range(1, 9)
    )
    links = tuple(
        NvLink(gpu=n, port=p, state="up", gbps=212.496, width=2, peer=f"NVSwitch_{p % 4}:{n * 18 + p}", peer_agrees=True)
        for n in range(1, 9)
        for p in range(18)
    )
    return HardwareFacts(
        identity=Identity(system_serial=SERIAL, uuid=UUID),
        cpus=tuple(Cpu(socket=f"CPU{n}") for n in range(2)),
        memory_mib=2048 * 1024,
        dimms=tuple(Dimm(slot=f"DIMM_{n}", size_mib=64 * 1024, serial=f"DIMM{n:04d}") for n in range(32)),
        gpus=gpus,
        nvswitches=tuple(NvSwitch(index=n, name=f"NVSwitch_{n}", serial=f"NVS{n:04d}") for n in range(4)),
        nvlinks=links,
        nics=_nics(),
        drives=_drives(),
        firmware=(Firmware(component="HGX_FW_BMC_0", version="HGX-22.10-1"), Firmware(component="BIOS", version="1.2.3")),
    )


def agent_facts() -> HardwareFacts:
    """The same machine as the RAM disk's agent sees it: no GPU driver, so GPUs are PCI functions only."""
    pci = tuple(PciDevice(address=f"0000:{16 + n:02x}:00.0", vendor="10de", device="2330", device_class="030200") for n in range(8))
    return HardwareFacts(
        identity=Identity(system_serial=SERIAL, uuid=UUID),
        cpus=tuple(Cpu(socket=f"{n}") for n in range(2)),
        memory_mib=2_063_000,
        nics=_nics(),
        drives=_drives(),
        pci=pci,
    )


def _nics() -> tuple[Nic, ...]:
    return tuple(
        Nic(name=f"mlx5_{n}", serial=f"NIC{n:04d}", macs=(f"94:6d:ae:01:00:{n:02x}",), rate_gbps=400.0, rdma=True) for n in range(8)
    )


def _drives() -> tuple[Drive, ...]:
    data = [Drive(name=f"nvme{n}n1", serial=f"DATA{n:04d}", size_bytes=3_840_755_982_336, protocol="NVMe", slot=f"{n}") for n in range(8)]
    boot = [Drive(name="nvme8n1", serial=SYSTEM_DISK, size_bytes=960_197_124_096, protocol="NVMe", slot="m2-0")]
    return tuple(data + boot)


POWER_ON = PowerSeen(power=PowerState.ON, boot_target=BootTarget.DISK, boot_once=False, identity_serial=SERIAL, last_reset_at="t1")
RAM = BootSeen(
    boot_id=RAM_BOOT,
    stage="ram",
    token_order=ORDER,
    claimed_at=NOW - 3000,
    last_contact_at=NOW - 2000,
    system_serial=SERIAL,
    uuid=UUID,
    kernel=KERNEL,
)
INSTALLED = replace(RAM, boot_id=INSTALLED_BOOT, stage="installed", claimed_at=NOW - 1000, last_contact_at=NOW - 10)
WRITTEN = DiskImageSeen(image_digest=IMAGE, disk_serial=SYSTEM_DISK, frames_total=4, frames_verified=4, mismatches=0, operation=OPERATION)
MEASURED = SystemImageSeen(
    image_digest=IMAGE, root_disk_serial=SYSTEM_DISK, frames_measured=2, mismatches=0, kernel=KERNEL, hostname="atlas01"
)

HEALTH = HealthSeen(
    consoles=(ConsoleWay(way="ssh", port=2200, answers=True),),
    console_logs=("HostLogger",),
    xids=(XidSeen(part="gpu:3", code=79, at=NOW - 90_000, text="XID 79"),),
    leaks=(LeakSeen(name="Tray", state="ok"),),
)

LOOKS: Mapping[tuple[Kind, Witness], tuple[Body, float]] = {
    (Kind.BMC_POWER, Witness.OUT_OF_BAND): (POWER_ON, 30),
    (Kind.BMC_HARDWARE, Witness.OUT_OF_BAND): (HardwareSeen(facts=bmc_facts()), 60),
    (Kind.BMC_HEALTH, Witness.OUT_OF_BAND): (HEALTH, 60),
    (Kind.AGENT_HARDWARE, Witness.RAM_DISK): (HardwareSeen(facts=agent_facts()), 2900),
    (Kind.AGENT_BOOT, Witness.RAM_DISK): (RAM, 2000),
    (Kind.AGENT_BOOT, Witness.RUNNING_SYSTEM): (INSTALLED, 10),
    (Kind.DISK_IMAGE, Witness.RAM_DISK): (WRITTEN, 2000),
    (Kind.SYSTEM_IMAGE, Witness.RUNNING_SYSTEM): (MEASURED, 900),
    (Kind.BOOT_CLAIMS, Witness.ENDPOINT): (BootClaimsSeen(claims=2, conflicts=0), 1000),
}
"""Body and age in seconds of every look at the healthy node."""


def look(kind: Kind, witness: Witness, body: Body | None, age_s: float = 10, **more: Any) -> Observation:
    """One observation of the node, `age_s` before NOW."""
    digest = Digest("sha256:" + sha256(f"{kind} {witness} {body}".encode()).hexdigest()) if body is not None else None
    subject = node_subject(NODE.name)
    return Observation(subject=subject, kind=kind, witness=witness, seen_at=NOW - age_s, body=body, digest=digest, **more)


def healthy(**more: Any) -> NodeCase:
    """The node as it should be: inventory, firmware and os are green. `more` replaces fields of the case."""
    fields: dict[str, Any] = {
        "now": NOW,
        "spec_digest": Digest("sha256:" + "01" * 32),
        "wish_digest": Digest("sha256:" + "02" * 32),
        "spec": SPEC,
        "node": NODE,
        "profile": PROFILE,
        "parts": tuple(line for line in SPEC.purchase if SERIAL in (line.serial, line.node_serial)),
        "image": BUILT,
        "observations": {key: look(*key, body, age) for key, (body, age) in LOOKS.items()},
    }
    return NodeCase(**{**fields, **more})


def site(**more: Any) -> SiteCase:
    """The site of that node: its plan is green."""
    fields: dict[str, Any] = {
        "now": NOW,
        "spec_digest": Digest("sha256:" + "01" * 32),
        "spec": SPEC,
        "profiles": {"compute": PROFILE},
        "images": {"trainer@2026.11": BUILT},
    }
    return SiteCase(**{**fields, **more})


def without(case: NodeCase, *kinds: Kind) -> NodeCase:
    """As if these were never looked at."""
    return replace(case, observations={key: seen for key, seen in case.observations.items() if key[0] not in kinds})


def aged(case: NodeCase, kind: Kind, age_s: float) -> NodeCase:
    """As if the looks of that kind were made `age_s` ago."""
    return _each(case, kind, lambda seen: replace(seen, seen_at=case.now - age_s))


def unreadable(case: NodeCase, kind: Kind, failure_class: str = "timeout", failure: str = "") -> NodeCase:
    """As if the last look of that kind had failed."""
    return _each(case, kind, lambda seen: replace(seen, body=None, digest=None, failure=failure, failure_class=failure_class))


def gapped(case: NodeCase, kind: Kind, what: str) -> NodeCase:
    """As if that look could not read `what`."""
    return _each(case, kind, lambda seen: replace(seen, gaps=(*seen.gaps, Gap(what=what, why="no answer"))))


def seeing(case: NodeCase, kind: Kind, witness: Witness, body: Body, age_s: float | None = None) -> NodeCase:
    """As if that look had seen `body`."""
    old = case.observations.get((kind, witness))
    age = age_s if age_s is not None else (case.now - old.seen_at if old else 10)
    return replace(case, observations={**case.observations, (kind, witness): look(kind, witness, body, age)})


def with_bmc(case: NodeCase, **facts: Any) -> NodeCase:
    """As if the BMC had shown other facts."""
    return seeing(case, Kind.BMC_HARDWARE, Witness.OUT_OF_BAND, HardwareSeen(facts=replace(bmc_facts(), **facts)))


def with_agent(case: NodeCase, **facts: Any) -> NodeCase:
    """As if the RAM disk's agent had seen other facts."""
    return seeing(case, Kind.AGENT_HARDWARE, Witness.RAM_DISK, HardwareSeen(facts=replace(agent_facts(), **facts)))


def find_version(check: str) -> int:
    """Of a check; 1 for a name that is none."""
    found = find_check(check)
    return found.version if found is not None else 1


def waiver(check: str, subject: Subject, until: float = NOW + 3600) -> Waiver:
    """A verified waiver by the one who may."""
    return Waiver(
        check=check, subject=subject, until=until, by="ops-lead@example.org", reason="known, repair is booked", version=find_version(check)
    )


def _each(case: NodeCase, kind: Kind, change: Callable[[Observation], Observation]) -> NodeCase:
    return replace(case, observations={key: change(seen) if key[0] is kind else seen for key, seen in case.observations.items()})
