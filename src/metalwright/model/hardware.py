"""What a server is made of, as one witness saw it. The same nouns for Redfish and for the agent, so that they compare.

A value that could not be read is None and has a `Gap`; placeholders such as `N/A` or `To be filled by O.E.M.` are None too:
they are never an identity.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something this witness could not read, and why. A check that needs it is undetermined."""

    what: str
    """`gpus`, `nvlinks`, `drives`, `firmware`, `tpm` … or a path inside one (`gpus/3/serial`)."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieLink:
    """Generation (5 = 32 GT/s) and width in lanes, now and at best."""

    generation: int | None = None
    width: int | None = None
    max_generation: int | None = None
    max_width: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    socket: str
    model: str | None = None
    cores: int | None = None
    serial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimm:
    slot: str
    size_mib: int | None = None
    part_number: str | None = None
    serial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """`index` is the position (SXM n from Redfish, PCI order from the agent); `address` the PCI address seen in-band."""

    index: int
    name: str
    model: str | None = None
    serial: str | None = None
    part_number: str | None = None
    uuid: str | None = None
    memory_mib: int | None = None
    pcie: PcieLink | None = None
    address: str | None = None
    numa_node: int | None = None
    health: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NvSwitch:
    index: int
    name: str
    model: str | None = None
    serial: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLink:
    """One GPU port and the switch port it says it reaches. `peer` is `NVSwitch_1:17` or None when the witness cannot say.

    `peer_agrees`: the switch's own port names this GPU port back; None when only one end could be read.
    """

    gpu: int
    port: int
    state: str
    """`up`, `down`, `training` or `unknown`."""
    gbps: float | None = None
    width: int | None = None
    peer: str | None = None
    peer_agrees: bool | None = None
    errors: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """`rdma` says that it belongs to the compute fabric. MACs are lower case with colons."""

    name: str
    model: str | None = None
    serial: str | None = None
    part_number: str | None = None
    macs: tuple[str, ...] = ()
    rate_gbps: float | None = None
    rdma: bool | None = None
    pcie: PcieLink | None = None
    address: str | None = None
    numa_node: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """`device` is the in-band name (`nvme0n1`); `slot` the out-of-band bay."""

    name: str
    model: str | None = None
    serial: str | None = None
    size_bytes: int | None = None
    protocol: str | None = None
    slot: str | None = None
    device: str | None = None
    pcie: PcieLink | None = None
    numa_node: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Psu:
    name: str
    serial: str | None = None
    health: str | None = None
    watts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One function as sysfs shows it. Ids are lower-case hex without 0x; `device_class` six digits."""

    address: str
    vendor: str
    device: str
    device_class: str
    pcie: PcieLink | None = None
    numa_node: int | None = None
    iommu_group: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Firmware:
    component: str
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The set that tells one machine from another. Which of them must match, the profile says; at least `system_serial`."""

    system_serial: str | None = None
    board_serial: str | None = None
    uuid: str | None = None
    manufacturer: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareFacts:
    """One witness's sight of one server."""

    identity: Identity
    cpus: tuple[Cpu, ...] = ()
    memory_mib: int | None = None
    dimms: tuple[Dimm, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    nvswitches: tuple[NvSwitch, ...] = ()
    nvlinks: tuple[NvLink, ...] = ()
    nics: tuple[Nic, ...] = ()
    drives: tuple[Drive, ...] = ()
    psus: tuple[Psu, ...] = ()
    pci: tuple[PciDevice, ...] = ()
    firmware: tuple[Firmware, ...] = ()
    bios_version: str | None = None
    tpm: str | None = None
    """TPM version text such as `2.0`; None with a gap when unreadable, None without a gap when there is none."""
    gaps: tuple[Gap, ...] = ()
    warnings: int = 0
    """How often a lenient reading was needed (a number as text, a missing Members): a counted fact about the BMC."""


class PowerState(StrEnum):
    ON = "on"
    OFF = "off"
    TURNING_ON = "turning-on"
    TURNING_OFF = "turning-off"
    UNKNOWN = "unknown"


class BootTarget(StrEnum):
    """Where the next start comes from; `NETWORK` covers PXE and UEFI HTTP."""

    NONE = "none"
    DISK = "disk"
    NETWORK = "network"
    OTHER = "other"
