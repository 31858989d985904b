"""What the tools on a node show of its accelerators when the platform is whole: `data/accelerators.toml`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """The least that a healthy platform reaches in one test. `gbytes_per_s` is bus bandwidth for collectives."""

    test: str
    """`all_reduce`, `host_to_device` …"""
    algorithm: str
    """`any`, `nvls`, `ring`: the same links give 30 % less with a ring."""
    gbytes_per_s: float
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorProfile:
    """One platform. A `HardwareProfile` says what a server is made of; this says what its driver must report."""

    name: str
    version: int
    models: tuple[str, ...]
    """Product names as the tools print them."""
    gpus: int
    memory_mib: int
    power_watts: int
    pcie_generation: int
    """What the platform reaches, host included."""
    pcie_width: int
    nvlinks: int = 0
    """Per GPU."""
    nvlink_gbps: float = 0.0
    """One link, one direction, in Gbit/s."""
    reports: tuple[str, ...] = ()
    """What the driver reports on this model and not on every one: `fabric`, `mig`, `margin`, `rows`; and `near_nics` where each
    GPU has a NIC behind its own PCIe switch."""
    limits: str = ""
    """What keeps this platform below what its GPU can do; empty for the platform that the model is built for."""
    bandwidths: tuple[Bandwidth, ...] = ()
    source: str
    date: str
