"""The declared site: what is wanted. Frozen, complete, with every reference of the folder already read in.

Users write it as a folder of YAML and CSV (see `metalwright init`); `codec.site_folder` reads it. Keys in the files are the
field names here. Optional parts that are absent are None or empty: checks then say *not applicable* with that reason, or fail
where the part is required.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from metalwright.model.ids import NodeName, RackName
from metalwright.model.units import Seconds, SecretRef


class Role(StrEnum):
    """Who may do what (RACI). Values are principals of `keys/allowed_signers`."""

    DECLARE_LIVE = "declare-live"
    WAIVE = "waive"
    EXECUTE = "execute"
    OWN_DATA = "own-data"
    ON_CALL = "on-call"


class Depth(StrEnum):
    """How much metalwright does by itself in a gate."""

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

    name: str
    timezone: str = "UTC"
    simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A service objective; `at_least`/`at_most` are texts with a unit (`0.90`, `20min`)."""

    name: str
    over: Seconds
    workload: str | None = None
    at_least: str | None = None
    at_most: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Size and period of a training job's checkpoints."""

    size_gib: int
    every: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One line of the workload mix. `kind`: training, finetune, inference or batch."""

    name: str
    kind: str
    gpus: int
    checkpoint: Checkpoint | None = None
    ttft_p99: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What the cluster is for. `residency` is a country or region code."""

    workloads: tuple[Workload, ...]
    tenancy: str
    residency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One power feed of a rack, usable kW after derating."""

    name: str
    kw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """`kind`: air, liquid or hybrid; usable kW of heat removal."""

    kind: str
    kw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RackSpec:
    """A rack with its power and cooling budget. `redundancy`: N, N+1 or 2N."""

    name: RackName
    feeds: tuple[Feed, ...]
    cooling: Cooling
    redundancy: str = "N+1"
    units: int = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class NicSpec:
    """The RDMA NICs of a profile: count and rate of each."""

    count: int
    rate_gbps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmeSpec:
    """The NVMe drives of a profile: count and size of each (decimal TB as labelled)."""

    count: int
    each_tb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpec:
    """A hardware profile of the site: a library profile (`is`, see `data/profiles.yaml`) with this site's numbers.

    A number given here wins over the library's and shows in the evidence as an override.
    """

    base: str
    cpus: int | None = None
    memory_gib: int | None = None
    gpus: int | None = None
    host_pcie_generation: int | None = None
    nics: NicSpec | None = None
    nvme: NvmeSpec | None = None
    max_watts: int | None = None


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

    name: NodeName
    rack: RackName
    unit: int
    profile: str
    serial: str
    bmc: str
    """URL of the BMC's Redfish service, `https://10.20.0.11`."""
    boot_mac: str
    bmc_fingerprint: str | None = None
    """`sha256:<hex>` of the BMC's certificate, if known before the first contact."""
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseLine:
    """One line of the vendor's packing list. A serial at `quantity` 1; parts inside a node name it in `node_serial`."""

    part: str
    serial: str | None = None
    quantity: int = 1
    node_serial: str | None = None
    kind: str | None = None
    """`system`, `gpu`, `nvswitch`, `nic`, `drive`, `cpu`, `dimm`, `psu` or None when the list does not say."""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CableSpec:
    """One cable between two ports. Both ends are required."""

    label: str
    a_device: str
    a_port: str
    b_device: str
    b_port: str
    fabric: str
    length_m: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricSpec:
    """`kind`: infiniband, ethernet or nvlink."""

    name: str
    kind: str
    rate_gbps: int | None = None
    lossless: str | None = None
    subnet: str | None = None
    tiers: int | None = None
    rails: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareLine:
    """Wanted version of one component on the nodes of a profile; `component` matches Redfish FirmwareInventory ids."""

    profile: str
    component: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchSpec:
    """The data disks. `stripe`: which drives are striped (RAID 0)."""

    stripe: str
    filesystem: str
    mount: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLayout:
    """`system`: serial pattern rule of the boot disk: `smallest-nvme`, `nvme:<slot>` or `serial:<serial>`."""

    system: str = "smallest-nvme"
    mirror: tuple[str, ...] = ()
    scratch: ScratchSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecipe:
    """How an image is built. `builder`: mmdebstrap (a real system) or synthetic (seeded bytes for a simulated site)."""

    name: str
    version: str
    builder: str
    suite: str = "bookworm"
    packages: tuple[str, ...] = ()
    kernel_command_line: str = ""
    size_mib: int = 1024
    frame_mib: int = 4
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSpec:
    """What runs on a node after provision. `image` is `name@version` of a built image in `images/`."""

    image: str
    boot: BootPath = BootPath.UEFI_HTTP
    disks: DiskLayout = field(default_factory=DiskLayout)
    bios: Mapping[str, str] = field(default_factory=dict)
    mig: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetbootSpec:
    """Where nodes reach the endpoints. `dhcp`: `metalwright` (own dnsmasq), `external`, or `none` (simulated site)."""

    boot_url: str = "http://127.0.0.1:8480"
    agent_url: str = "https://127.0.0.1:8443"
    dhcp: str = "none"
    interface: str | None = None
    range_start: str | None = None
    range_end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSpec:
    """`kind`: slurm or kubernetes."""

    kind: str
    partition: str | None = None
    controller: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceSpec:
    """The acceptance list: which suite, how long the soak, which checks the plan waived beforehand."""

    use: str
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

    where: str
    then: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirePolicy:
    """How things leave. `media`: clear, purge or destroy (NIST SP 800-88r2)."""

    media: str
    keys: str | None = None
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
    responsible: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    depth: Mapping[str, Depth] = field(default_factory=dict)
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
