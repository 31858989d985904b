"""Where nvidia-smi says each fact, in every form and driver seen: XML of `-q -x`, text of `-q`, columns of `--query-gpu`.

Looked up by meaning, never by position or DTD: the DTD name stays the same while elements are renamed (v12 from driver 535 to 570).
Read from real outputs of drivers 515, 525, 535, 570, 580, 590 and 595.
"""

from collections.abc import Mapping, Sequence

from metalwright.model.gpu_state import GpuReport
from metalwright.model.hardware import Gap
from metalwright.readers.gpu_facts import Source, Sources, Texts, known_to, report, said_by
from metalwright.readers.words import Parser, decimal, flag, identifier, integer, natural, word


def full_report(
    gpus: Sequence[Texts], *, driver: str | None, api: str | None, attached: int | None, around: str, gaps: tuple[Gap, ...]
) -> GpuReport:
    """Of an output that holds every fact its driver knows: what is missing from it is missed."""
    offers = known_to(driver, NVIDIA) | said_by(gpus, NVIDIA)
    return report(gpus, NVIDIA, driver=driver, offers=offers, api=api, attached=attached, around=around, gaps=gaps)


def _source(parse: Parser, *paths: str, since: int = 0) -> Source:
    return Source(parse=parse, paths=paths, since=since)


def _reason(name: str, text: str, column: str) -> Source:
    """Clock event reasons were called throttle reasons until driver 535."""
    groups = ("clocks_event_reasons/clocks_event_reason", "clocks_throttle_reasons/clocks_throttle_reason")
    xml = tuple(f"{group}_{name}" for group in groups)
    plain = tuple(f"{group}/{text}" for group in ("clocks_event_reasons", "clocks_throttle_reasons"))
    columns = (f"clocks_event_reasons.{column}", f"clocks_throttle_reasons.{column}")
    return _source(flag, *xml, *plain, *columns)


def _uncorrectable(kind: str, scope: str) -> tuple[str, ...]:
    return (f"ecc_errors/{scope}/{kind}_uncorrectable", f"ecc.errors.uncorrected.{scope}.{kind}")


def _sram_part(part: str, label: str, scope: str) -> tuple[str, ...]:
    """SRAM errors are told in two parts since driver 550."""
    names = (f"ecc_errors/{scope}/sram_uncorrectable_{part}", f"ecc_errors/{scope}/sram_uncorrectable_{label}")
    return (*names, f"ecc.errors.uncorrected.{scope}.sram.{part}")


SRAM_PARTS = (("parity", "parity"), ("secded", "sec_ded"))

FACTS: Mapping[str, Source] = {
    "address": _source(word, "pci/pci_bus_id", "pci/bus_id", "pci.bus_id"),
    "model": _source(word, "product_name", "name"),
    "serial": _source(identifier, "serial", "serial_number"),
    "uuid": _source(identifier, "uuid", "gpu_uuid"),
    "vbios": _source(word, "vbios_version"),
    "memory_mib": _source(natural, "fb_memory_usage/total", "memory.total"),
    "persistence": _source(flag, "persistence_mode"),
    "mig": _source(flag, "mig_mode/current_mig", "mig_mode/current", "mig.mode.current"),
    "mig_pending": _source(flag, "mig_mode/pending_mig", "mig_mode/pending", "mig.mode.pending"),
    "ecc": _source(flag, "ecc_mode/current_ecc", "ecc_mode/current", "ecc.mode.current"),
    "ecc_pending": _source(flag, "ecc_mode/pending_ecc", "ecc_mode/pending", "ecc.mode.pending"),
    "pcie_generation": _source(
        natural,
        "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
        "pci/gpu_link_info/pcie_generation/current",
        "pcie.link.gen.current",
    ),
    "pcie_best_generation": _source(
        natural, "pci/pci_gpu_link_info/pcie_gen/max_link_gen", "pci/gpu_link_info/pcie_generation/max", "pcie.link.gen.max"
    ),
    "pcie_width": _source(
        natural,
        "pci/pci_gpu_link_info/link_widths/current_link_width",
        "pci/gpu_link_info/link_width/current",
        "pcie.link.width.current",
    ),
    "pcie_best_width": _source(
        natural, "pci/pci_gpu_link_info/link_widths/max_link_width", "pci/gpu_link_info/link_width/max", "pcie.link.width.max"
    ),
    "pcie_replays": _source(natural, "pci/replay_counter", "pci/replays_since_reset"),
    "utilisation": _source(natural, "utilization/gpu_util", "utilization/gpu", "utilization.gpu"),
    "is_idle": _reason("gpu_idle", "idle", "gpu_idle"),
    "hw_slowdown": _reason("hw_slowdown", "hw_slowdown", "hw_slowdown"),
    "hw_thermal": _reason("hw_thermal_slowdown", "hw_slowdown/hw_thermal_slowdown", "hw_thermal_slowdown"),
    "hw_power_brake": _reason("hw_power_brake_slowdown", "hw_slowdown/hw_power_brake_slowdown", "hw_power_brake_slowdown"),
    "sw_thermal": _reason("sw_thermal_slowdown", "sw_thermal_slowdown", "sw_thermal_slowdown"),
    "power_limit": _source(
        decimal,
        "gpu_power_readings/current_power_limit",
        "power_readings/enforced_power_limit",
        "power_readings/power_limit",
        "enforced.power.limit",
        "power.limit",
    ),
    "power_default": _source(
        decimal, "gpu_power_readings/default_power_limit", "power_readings/default_power_limit", "power.default_limit"
    ),
    "power_draw": _source(
        decimal,
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/instantaneous_power_draw",
        "gpu_power_readings/power_draw",
        "gpu_power_readings/average_power_draw",
        "power_readings/power_draw",
        "power.draw.instant",
        "power.draw",
    ),
    "temperature": _source(integer, "temperature/gpu_temp", "temperature/gpu_current_temp", "temperature.gpu"),
    "margin": _source(integer, "temperature/gpu_temp_tlimit", "temperature/gpu_t_limit_temp", "temperature.gpu.tlimit", since=535),
    "slowdown_margin": _source(integer, "temperature/gpu_temp_slow_tlimit_threshold", "temperature/gpu_slowdown_t_limit_temp", since=535),
    "slowdown_temperature": _source(integer, "temperature/gpu_temp_slow_threshold", "temperature/gpu_slowdown_temp"),
    "sm_clock": _source(natural, "clocks/sm_clock", "clocks/sm", "clocks.current.sm", "clocks.sm"),
    "sm_clock_best": _source(natural, "max_clocks/sm_clock", "max_clocks/sm", "clocks.max.sm"),
    "dram_uncorrectable": _source(natural, *_uncorrectable("dram", "volatile")),
    "dram_uncorrectable_ever": _source(natural, *_uncorrectable("dram", "aggregate")),
    "sram_uncorrectable": _source(natural, *_uncorrectable("sram", "volatile")),
    "sram_uncorrectable_ever": _source(natural, *_uncorrectable("sram", "aggregate")),
    "sram_threshold_exceeded": _source(
        flag, "ecc_errors/aggregate/sram_threshold_exceeded", "ecc.errors.uncorrected.aggregate.sram.thresholdexceeded", since=550
    ),
    "unrepairable": _source(flag, "ecc_errors/unrepairable_memory", since=590),
    "rows_correctable": _source(natural, "remapped_rows/remapped_row_corr", "remapped_rows/correctable_error", "remapped_rows.correctable"),
    "rows_uncorrectable": _source(
        natural, "remapped_rows/remapped_row_unc", "remapped_rows/uncorrectable_error", "remapped_rows.uncorrectable"
    ),
    "rows_pending": _source(flag, "remapped_rows/remapped_row_pending", "remapped_rows/pending", "remapped_rows.pending"),
    "rows_failure": _source(
        flag, "remapped_rows/remapped_row_failure", "remapped_rows/remapping_failure_occurred", "remapped_rows.failure"
    ),
    "pages_pending": _source(
        flag,
        "retired_pages/pending_retirement",
        "retired_pages/pending_blacklist",
        "retired_pages/pending_page_blacklist",
        "retired_pages.pending",
    ),
    "recovery_action": _source(word, "gpu_recovery_action", since=570),
    "reset_required": _source(flag, "gpu_reset_status/reset_required"),
    "fabric_state": _source(word, "fabric/state", "fabric.state", since=535),
    "fabric_status": _source(word, "fabric/status", "fabric.status", since=535),
    "fabric_clique": _source(word, "fabric/cliqueid", "fabric.cliqueid", since=550),
    "fabric_cluster": _source(word, "fabric/clusteruuid", "fabric.clusteruuid", since=550),
    "fabric_health": _source(word, "fabric/health/summary", "fabric.health.summary", since=580),
    "fabric_misconfigured": _source(word, "fabric/health/incorrect_configuration", "fabric.health.incorrect_configuration", since=580),
    "module": _source(word, "platforminfo/module_id", "platform_info/module_id", "gpu_module_id", "platform.module_id"),
}

PARTS: Mapping[str, tuple[Source, ...]] = {
    "sram_uncorrectable": tuple(_source(natural, *_sram_part(*names, "volatile")) for names in SRAM_PARTS),
    "sram_uncorrectable_ever": tuple(_source(natural, *_sram_part(*names, "aggregate")) for names in SRAM_PARTS),
    "repair_pending": (
        _source(flag, "ecc_errors/channel_repair_pending", since=580),
        _source(flag, "ecc_errors/tpc_repair_pending", since=580),
    ),
}

OPTIONAL = frozenset(("slowdown_temperature", "reset_required", "module", "pages_pending", "unrepairable"))

NVIDIA = Sources(facts=FACTS, parts=PARTS, optional=OPTIONAL)
