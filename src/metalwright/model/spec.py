"""The declared site: what is wanted. Frozen, complete, with every reference of the folder already read in.

Users write it as a folder of YAML and CSV (see `metalwright init`); `codec.site_folder` reads it. Keys in the files are the
field names here. Optional parts that are absent are None or empty: checks then say *not applicable* with that reason, or fail
where the part is required.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from metalwright.model.ids import NodeName, RackName
from metalwright.model.units import (
    AtLeastOne,
    BmcUrl,
    Bounds,
    Count,
    Form,
    Kilowatts,
    Label,
    Mac,
    Principal,
    Seconds,
    SecretRef,
    Serial,
    Url,
    Words,
)

NodeLabel = Annotated[NodeName, Form(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", "a host name label such as atlas01")]
RackLabel = Annotated[RackName, Form(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "a rack name such as r01")]
WorkloadKind = Literal["training", "finetune", "inference", "batch"]
Tenancy = Literal["single", "multi"]
CoolingKind = Literal["air", "liquid", "hybrid"]
Redundancy = Literal["N", "N+1", "2N"]
FabricKind = Literal["infiniband", "ethernet", "nvlink"]
PartKind = Literal["system", "gpu", "nvswitch", "nic", "drive", "cpu", "dimm", "psu"]
ImageBuilder = Literal["mmdebstrap", "synthetic"]
Dhcp = Literal["metalwright", "external", "none"]


class Role(StrEnum):
    """Who may do what (RACI). Values are principals of `keys/allowed_signers`."""

    DECLARE_LIVE = "declare-live"
    WAIVE = "waive"
    EXECUTE = "execute"
    OWN_DATA = "own-data"
    ON_CALL = "on-call"


class Depth(StrEnum):
    """How much metalwright does by itself towards a gate. Gates and proofs are the same at every depth.

    `assisted`: it proposes, a person confirms, it does. `manual`: a person does it, from a printed work order.
    """

    AUTOMATIC = "automatic"
    ASSISTED = "assisted"
    MANUAL = "manual"


class BootPath(StrEnum):
    """How a node reaches its RAM disk."""

    BIOS_PXE = "bios-pxe"
    UEFI_PXE = "uefi-pxe"
    UEFI_HTTP = "uefi-http"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteIdentity:
    """`simulated` is fixed when the state folder is made: evidence of such a site is never real evidence."""

    name: Label
    timezone: Annotated[str, Form(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}", "a tz database name such as Europe/Zurich")] = "UTC"
    simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A service objective; `at_least` or `at_most`, one of them, is a text with a unit (`0.90`, `20min`)."""

    name: Words
    over: Seconds
    workload: str | None = None
    at_least: str | None = None
    at_most: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Size and period of a training job's checkpoints."""

    size_gib: AtLeastOne
    every: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One line of the workload mix."""

    name: Words
    kind: WorkloadKind
    gpus: Count
    checkpoint: Checkpoint | None = None
    ttft_p99: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What the cluster is for. `residency` is a country or region code."""

    workloads: tuple[Workload, ...]
    tenancy: Tenancy
    residency: Annotated[str, Form(r"[A-Z]{2}(-[A-Z0-9]{1,3})?", "a country or region code such as CH, EU or US-CA")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One power feed of a rack, usable kW after derating."""

    name: Words
    kw: Kilowatts


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """How the rack's heat leaves it, and how much of it: usable kW."""

    kind: CoolingKind
    kw: Kilowatts


@dataclass(frozen=True, slots=True, kw_only=True)
class RackSpec:
    """A rack with its power and cooling budget. `units` is its height; unit 1 is the lowest."""

    name: RackLabel
    feeds: tuple[Feed, ...]
    cooling: Cooling
    redundancy: Redundancy = "N+1"
    units: Annotated[int, Bounds(1, 100)] = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class NicSpec:
    """The RDMA NICs of a profile: count and rate of each."""

    count: Count
    rate_gbps: AtLeastOne


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmeSpec:
    """The NVMe drives of a profile: count and size of each (decimal TB as labelled)."""

    count: Count
    each_tb: Annotated[float, Bounds(0.0001, 1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpec:
    """A hardware profile of the site: a library profile (`is`, see `data/profiles.yaml`) with this site's numbers.

    A number given here wins over the library's and shows in the evidence as an override.
    """

    base: Words
    cpus: Count | None = None
    memory_gib: AtLeastOne | None = None
    gpus: Count | None = None
    host_pcie_generation: Annotated[int, Bounds(1, 7)] | None = None
    """The slower side decides the link: a generation-4 host holds a generation-5 GPU at 4."""
    nics: NicSpec | None = None
    nvme: NvmeSpec | None = None
    max_watts: AtLeastOne | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareProfile:
    """A library profile, frozen per `version`; an upgrade of metalwright adds versions, never edits one.

    Counts are exact; `memory_gib` is a floor at 97 % of the labelled size because firmware reserves some.
    """

    name: str
    version: int
    gpu_model: str
    gpus: int
    nvswitches: int
    nvlinks_per_gpu: int
    nvlink_gbps: float
    """One NVLink, one direction, in Gbit/s as Redfish reports CurrentSpeedGbps."""
    nvlinks_per_switch: tuple[int, ...] = ()
    """NVLinks of each GPU to each NVSwitch, in the switches' order; empty where it is not known: then all GPUs must be alike."""
    gpu_pcie_generation: int
    gpu_pcie_width: int
    gpu_memory_mib: int
    cpus: int
    memory_gib: int
    nics: int
    nic_rate_gbps: int
    nvme: int
    nvme_each_tb: float
    max_watts: int
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One server. `serial` is the system serial of the label and of the purchase list."""

    name: NodeLabel
    rack: RackName
    unit: Annotated[int, Bounds(1, 100)]
    """Lowest rack unit the server occupies."""
    profile: Words
    serial: Serial
    bmc: Annotated[str, BmcUrl()]
    """URL of the BMC's Redfish service, `https://10.20.0.11`."""
    boot_mac: Mac
    bmc_fingerprint: Annotated[str, Form(r"sha256:[0-9a-f]{64}", "sha256: and 64 lower-case hex digits")] | None = None
    """`sha256:<hex>` of the BMC's certificate, if known before the first contact."""
    uuid: Annotated[str, Form(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "a UUID")] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseLine:
    """One line of the vendor's packing list. A serial at `quantity` 1; parts inside a node name it in `node_serial`."""

    part: Words
    serial: Serial | None = None
    quantity: AtLeastOne = 1
    node_serial: Serial | None = None
    kind: PartKind | None = None
    """None when the list does not say."""
    line: int = 0
    """Line of the packing list, from 1; no part of the spec's digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CableSpec:
    """One cable between two ports. Both ends are required."""

    label: Words
    a_device: Words
    a_port: Words
    b_device: Words
    b_port: Words
    fabric: Words
    length_m: Annotated[float, Bounds(0.05, 10_000)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricSpec:
    """One network: its kind, the rate of a port, and how it is built. `rails`: leaf groups, one per NIC position."""

    name: Label
    kind: FabricKind
    rate_gbps: AtLeastOne | None = None
    lossless: str | None = None
    subnet: str | None = None
    tiers: Annotated[int, Bounds(1, 4)] | None = None
    rails: Annotated[int, Bounds(1, 64)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareLine:
    """Wanted version of one component on the nodes of a profile; `component` matches Redfish FirmwareInventory ids."""

    profile: Words
    component: Words
    version: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchSpec:
    """The data disks. `stripe`: which drives are striped (RAID 0)."""

    stripe: Words
    filesystem: Literal["xfs", "ext4"]
    mount: Annotated[str, Form(r"/[A-Za-z0-9._/-]{1,200}", "an absolute path such as /scratch")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLayout:
    """`system`: serial pattern rule of the boot disk: `smallest-nvme`, `nvme:<slot>` or `serial:<serial>`."""

    system: Annotated[str, Form(r"smallest-nvme|nvme:\S+|serial:\S+", "smallest-nvme, nvme:<slot> or serial:<serial>")] = "smallest-nvme"
    mirror: tuple[str, ...] = ()
    scratch: ScratchSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecipe:
    """How an image is built. `builder`: mmdebstrap (a real system) or synthetic (seeded bytes for a simulated site)."""

    name: Label
    version: Annotated[str, Form(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}", "a version such as 2026.11")]
    builder: ImageBuilder
    suite: str = "bookworm"
    packages: tuple[str, ...] = ()
    kernel_command_line: str = ""
    size_mib: AtLeastOne = 1024
    frame_mib: Annotated[int, Bounds(1, 256)] = 4
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSpec:
    """What runs on a node after provision. `image` is `name@version` of a built image in `images/`."""

    image: Annotated[str, Form(r"[^@\s]+@[^@\s]+", "name@version such as trainer@2026.11")]
    boot: BootPath = BootPath.UEFI_HTTP
    disks: DiskLayout = field(default_factory=DiskLayout)
    bios: Mapping[str, str] = field(default_factory=dict)
    mig: str = "none"
    console_log: Words | None = None
    """What keeps the text of every serial console, such as `conserver on ops1`; None where the BMCs themselves do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetbootSpec:
    """Where nodes reach the endpoints. `dhcp`: `metalwright` (own dnsmasq), `external`, or `none` (simulated site)."""

    boot_url: Url = "http://127.0.0.1:8480"
    agent_url: Url = "https://127.0.0.1:8443"
    dhcp: Dhcp = "none"
    interface: str | None = None
    range_start: str | None = None
    range_end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSpec:
    """Who gives nodes to jobs."""

    kind: Literal["slurm", "kubernetes"]
    partition: str | None = None
    controller: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceSpec:
    """The acceptance list: which suite, how long the soak, which checks the plan waived beforehand."""

    use: Words
    soak: Seconds
    waived_in_plan: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BmcSecrets:
    """References to the account metalwright uses on the BMCs."""

    user: SecretRef
    password: SecretRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Every secret of the site, by reference only."""

    bmc: BmcSecrets


@dataclass(frozen=True, slots=True, kw_only=True)
class RetireData:
    """One data location and what becomes of it: destroy, move or keep."""

    where: Words
    then: Literal["destroy", "move", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirePolicy:
    """How things leave. `media` in the words of NIST SP 800-88r2."""

    media: Literal["clear", "purge", "destroy"]
    keys: SecretRef | None = None
    data: tuple[RetireData, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSpec:
    """Everything the operator declares. `metalwright` is the version of this shape."""

    metalwright: int
    site: SiteIdentity
    racks: tuple[RackSpec, ...]
    profiles: Mapping[str, ProfileSpec]
    nodes: tuple[NodeSpec, ...]
    secrets: Secrets
    responsible: Mapping[Role, tuple[Principal, ...]] = field(default_factory=dict)
    depth: Mapping[str, Depth] = field(default_factory=dict)
    """By gate, or by phase for all its gates; a gate's own entry wins. What is not named is automatic."""
    objectives: tuple[Objective, ...] = ()
    capacity: Capacity | None = None
    purchase: tuple[PurchaseLine, ...] = ()
    fabrics: tuple[FabricSpec, ...] = ()
    cables: tuple[CableSpec, ...] = ()
    firmware: tuple[FirmwareLine, ...] = ()
    system: SystemSpec | None = None
    images: tuple[ImageRecipe, ...] = ()
    netboot: NetbootSpec = field(default_factory=NetbootSpec)
    scheduler: SchedulerSpec | None = None
    acceptance: AcceptanceSpec | None = None
    retire: RetirePolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpec:
    """A spec as the loop uses it: the parsed folder, its digest, and the library profiles it resolved to."""

    digest: str
    spec: SiteSpec
    profiles: Mapping[str, HardwareProfile]
    """Site profile name → effective profile (library numbers with the site's overrides applied)."""
    overrides: tuple[str, ...] = ()
    """`profile compute: nics 8 → 4 (site.yaml)`: shown by explain and in the evidence."""
