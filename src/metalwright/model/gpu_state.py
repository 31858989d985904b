"""GPUs as the driver's own tools show them on a running node: NVIDIA and AMD in the same nouns, so that one check judges both.

Every fact may be None. Why it is None is in `unread`, in the words of the tool: a check that needs it is undetermined.
"""

from dataclasses import dataclass

from metalwright.model.hardware import Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """One GPU. `index` is its place in the output; temperatures in °C, power in W, clocks in MHz, memory in MiB."""

    index: int
    address: str | None = None
    model: str | None = None
    serial: str | None = None
    uuid: str | None = None
    module: str | None = None
    """Position on the baseboard (SXM or OAM number) where the tool says it."""
    vbios: str | None = None
    memory_mib: int | None = None
    persistence: bool | None = None
    mig: bool | None = None
    mig_pending: bool | None = None
    ecc: bool | None = None
    ecc_pending: bool | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_best_generation: int | None = None
    """What GPU and host can do together."""
    pcie_best_width: int | None = None
    pcie_replays: int | None = None
    utilisation: int | None = None
    """Percent."""
    is_idle: bool | None = None
    """The driver says that clocks are low because nothing runs."""
    power_limit: float | None = None
    power_default: float | None = None
    power_draw: float | None = None
    temperature: int | None = None
    margin: int | None = None
    """Degrees left until the GPU begins to slow down (T.Limit)."""
    slowdown_margin: int | None = None
    slowdown_temperature: int | None = None
    """Absolute threshold of older models."""
    hw_slowdown: bool | None = None
    hw_thermal: bool | None = None
    hw_power_brake: bool | None = None
    sw_thermal: bool | None = None
    sm_clock: int | None = None
    sm_clock_best: int | None = None
    dram_uncorrectable: int | None = None
    """Since the driver was loaded."""
    sram_uncorrectable: int | None = None
    dram_uncorrectable_ever: int | None = None
    sram_uncorrectable_ever: int | None = None
    sram_threshold_exceeded: bool | None = None
    repair_pending: bool | None = None
    """A memory channel or TPC waits for a repair at the next reset."""
    unrepairable: bool | None = None
    rows_correctable: int | None = None
    rows_uncorrectable: int | None = None
    rows_pending: bool | None = None
    rows_failure: bool | None = None
    pages_pending: bool | None = None
    pages_bad: int | None = None
    recovery_action: str | None = None
    reset_required: bool | None = None
    fabric_state: str | None = None
    fabric_status: str | None = None
    fabric_clique: str | None = None
    fabric_cluster: str | None = None
    fabric_health: str | None = None
    fabric_misconfigured: str | None = None
    compute_partition: str | None = None
    """AMD: SPX for a whole GPU."""
    memory_partition: str | None = None
    """AMD: NPS1 for one memory."""
    is_lost: bool = False
    """The tool says that the GPU fell off the bus."""
    unread: tuple[tuple[str, str], ...] = ()
    """(fact, why) of every fact that the output should hold and that could not be read."""

    @property
    def name(self) -> str:
        """What people call it."""
        return f"GPU {self.index}" + (f" ({self.address})" if self.address else "")

    def why_unread(self, fact: str) -> str:
        """Why a fact is None."""
        return next((why for name, why in self.unread if name == fact), "not in the output")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReport:
    """One run of a tool over the GPUs of a node."""

    driver: str | None = None
    api: str | None = None
    """CUDA or ROCm version that the driver offers."""
    attached: int | None = None
    """How many GPUs the driver says it has; more than `gpus` when the output was cut."""
    gpus: tuple[GpuState, ...] = ()
    lost: tuple[str, ...] = ()
    """Lines in which the tool says that it cannot reach a GPU."""
    offers: frozenset[str] = frozenset()
    """Facts that an output of this kind and driver says; the others are not in this file."""
    gaps: tuple[Gap, ...] = ()
    """What was cut off or could not be read as a whole."""
