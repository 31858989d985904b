"""PCIe links, network ports and drives of a host, as lspci, ethtool, nvme-cli and smartmontools show them."""

from dataclasses import dataclass

from metalwright.model.hardware import Gap, PcieLink


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFunction:
    """One function of `lspci -vv`. `link` holds what runs now and what the device can do; None where it tells no link."""

    address: str
    name: str
    """Class and name as lspci prints them."""
    kind: str
    """`gpu`, `nic`, `nvme`, `bridge` or empty."""
    link: PcieLink | None
    acs: bool | None
    """Whether requests are redirected upstream (ACS), which GPUDirect does not survive; None where it is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PciListing:
    functions: tuple[PciFunction, ...]
    offers: frozenset[str]
    """`links` and `acs`, where the listing was verbose and made as root."""
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PortState:
    """One network port. Speeds in Mb/s; `best` is the fastest mode that it advertises."""

    name: str
    is_up: bool | None
    speed: int | None
    best: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PortReport:
    ports: tuple[PortState, ...]
    offers: frozenset[str]
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveHealth:
    """The SMART log of one NVMe drive. `spare` and `spare_threshold` and `used` in percent."""

    critical_warning: int | None
    media_errors: int | None
    used: int | None
    spare: int | None
    spare_threshold: int | None
    temperature: int | None
    offers: frozenset[str]
    gaps: tuple[Gap, ...] = ()
