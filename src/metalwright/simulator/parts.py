"""What one simulated server is made of: the truth that every face renders. Frozen; a fault makes a changed copy."""

from dataclasses import dataclass

from metalwright.model.hardware import Cpu, Dimm, Drive, Firmware, Gpu, Identity, Nic, NvLink, NvSwitch, Psu
from metalwright.model.spec import HardwareProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """One fan of the air path; speed in percent of the maximum."""

    name: str
    percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedXid:
    """One XID in the baseboard's log of a GPU, by the driver's time."""

    gpu: str
    code: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerParts:
    """One server. The nouns of `model.hardware` with every value known: a witness may see less, never more.

    `in_band_identity` differs from `identity` only under a fault: what DMI tells the operating system.
    """

    profile: HardwareProfile
    identity: Identity
    in_band_identity: Identity
    part_number: str
    cpus: tuple[Cpu, ...]
    dimms: tuple[Dimm, ...]
    gpus: tuple[Gpu, ...]
    nvswitches: tuple[NvSwitch, ...]
    nvlinks: tuple[NvLink, ...]
    nics: tuple[Nic, ...]
    """RDMA NICs first, then the onboard Ethernet port that carries the boot MAC (`rdma` False)."""
    drives: tuple[Drive, ...]
    psus: tuple[Psu, ...]
    fans: tuple[Fan, ...]
    firmware: tuple[Firmware, ...]
    bios_version: str
    tpm: str | None
    unseen_in_band: frozenset[str] = frozenset()
    """Names of parts that the BMC sees and Linux does not: fallen off the bus."""

    xids: tuple[LoggedXid, ...] = ()
    leak: str = "OK"
    """What the leak detector says: OK, Warning or Critical."""

    def memory_mib(self) -> int:
        """Total of the DIMMs."""
        return sum(dimm.size_mib or 0 for dimm in self.dimms)
