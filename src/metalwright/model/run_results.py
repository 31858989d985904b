"""Results of tests that were run on a node: DCGM diagnostics, collectives, copies. Bandwidths in GB/s (10⁹ bytes)."""

from collections.abc import Mapping
from dataclasses import dataclass

from metalwright.model.hardware import Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagWarning:
    """`severity` as DCGM numbers it: 0 none, 1 monitor, 2 isolate, 3 unknown, 4 triage, 5 configuration, 6 reset; None before DCGM 4."""

    text: str
    severity: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagResult:
    """One test on one entity (`GPU 3`), or on the whole when `entity` is empty."""

    test: str
    entity: str
    status: str
    warnings: tuple[DiagWarning, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagReport:
    """`dcgmi diag -j`. `gpus`: the GPUs that it names."""

    version: str | None
    driver: str | None
    results: tuple[DiagResult, ...]
    gpus: int
    error: str
    """What the tool says went wrong as a whole; empty when nothing did."""
    offers: frozenset[str]
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult:
    """One message size: bus bandwidth out of place and in place, and how many values were wrong (None: not validated)."""

    size: int
    out_of_place: float
    in_place: float
    wrong: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRun:
    """nccl-tests or rccl-tests. `operation` is `all_reduce` and so on, or empty when the output does not tell."""

    operation: str
    algorithm: str
    """`any` unless the environment forced one."""
    ranks: int
    hosts: int
    model: str | None
    sizes: tuple[SizeResult, ...]
    out_of_bounds: int | None
    offers: frozenset[str]
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRun:
    """nvbandwidth: test → every cell of its matrix."""

    version: str | None
    driver: str | None
    models: tuple[str, ...]
    cells: Mapping[str, tuple[float, ...]]
    errors: tuple[str, ...]
    offers: frozenset[str]
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyGpu:
    """A GPU in NCCL's topology. `nvlinks` None where the file does not tell links."""

    address: str
    generation: int | None
    width: int | None
    nvlinks: int | None
    near_nics: int
    """NICs below the same root of PCIe switches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTopology:
    """NCCL's view of a node (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE)."""

    gpus: tuple[TopologyGpu, ...]
    nics: int
    offers: frozenset[str]
    gaps: tuple[Gap, ...] = ()
