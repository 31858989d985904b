"""NVLinks and the topology of a node, as the driver's own tools show them."""

from collections.abc import Mapping
from dataclasses import dataclass

from metalwright.model.hardware import Gap, NvLink


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedGpu:
    """One GPU and its links; `counters` holds (link, counter) → count where the tool counts errors."""

    index: int
    model: str | None
    uuid: str | None
    links: tuple[NvLink, ...] = ()
    counters: Mapping[tuple[int, str], int]
    unread: tuple[str, ...] = ()
    """Lines of this GPU that say something else than a link."""

    @property
    def name(self) -> str:
        return f"GPU {self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLinkReport:
    """State and speed, or error counters, of every NVLink of a node."""

    gpus: tuple[LinkedGpu, ...]
    offers: frozenset[str]
    """`speed` or `counters`."""
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyMatrix:
    """How every pair of GPUs and NICs of a node is connected: NV18, PIX, PXB, PHB, NODE, SYS."""

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    paths: Mapping[tuple[str, str], str]
    nic_names: Mapping[str, str]
    """`NIC0` → `mlx5_0`."""
    numa: Mapping[str, str]
    """Device → NUMA affinity as it is told; a device without one is not in it."""
    offers: frozenset[str]
    gaps: tuple[Gap, ...] = ()
