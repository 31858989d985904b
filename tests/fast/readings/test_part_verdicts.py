"""One verdict per GPU from everything that was read of it."""

import pytest

from metalwright.codec.accelerators import accelerators
from metalwright.codec.events import event_table
from metalwright.codec.library import profiles
from metalwright.gates.readings.part_verdicts import part_verdicts
from metalwright.model.event_table import GpuVerdict
from metalwright.model.gpu_state import GpuState
from metalwright.readers.detect import read_bytes
from tests.kit.nvidia_smi import document, node

LOG = b"[    0.000000] Linux version 6.8\n[  100.000000] NVRM: Xid (PCI:0000:5b:00): 95, pid=1, name=x\n"

CASES = [
    ("gpu_recovery_action", "Reset", GpuVerdict.RESET, "the driver"),
    ("gpu_recovery_action", "Reboot", GpuVerdict.REBOOT, "the driver"),
    ("gpu_recovery_action", "Drain P2P", GpuVerdict.DRAIN_AFTER_JOB, "the driver"),
    ("gpu_recovery_action", "Pray", None, "the driver"),
    ("remapped_rows/remapped_row_failure", "Yes", GpuVerdict.RMA, "event table 1"),
    ("remapped_rows/remapped_row_pending", "Yes", GpuVerdict.RESET, "event table 1"),
    ("ecc_errors/aggregate/sram_threshold_exceeded", "Yes", GpuVerdict.RMA, "event table 1"),
    ("ecc_errors/volatile/dram_uncorrectable", "3", GpuVerdict.RESET, "event table 1"),
    ("product_name", "GPU is lost", GpuVerdict.REBOOT, "event table 1"),
]


@pytest.mark.parametrize(("path", "value", "verdict", "by"), CASES)
def test_each_state_has_its_verdict(path: str, value: str, verdict: GpuVerdict | None, by: str) -> None:
    """The driver's own action in its words, else the table; words that nobody knows are no verdict."""
    gpus = node()
    gpus[5][path] = value
    found = part_verdicts(read_bytes(document(gpus)))
    assert [(each.part, each.verdict, each.by) for each in found] == [("0000:5b:00", verdict, by)]


def test_log_and_driver_are_one_gpu_and_the_heavier_word_counts() -> None:
    """The same PCI address in both spellings: a reset by the log, a return by the driver's states."""
    healthy, broken = node(), node()
    broken[5]["remapped_rows/remapped_row_failure"] = "Yes"
    log = read_bytes(LOG)
    assert [(each.part, each.verdict) for each in part_verdicts((*log, *read_bytes(document(healthy))))] == [
        ("0000:5b:00", GpuVerdict.RESET)
    ]
    assert [(each.part, each.verdict) for each in part_verdicts((*read_bytes(document(broken)), *log))] == [("0000:5b:00", GpuVerdict.RMA)]
    assert part_verdicts(read_bytes(document(healthy))) == ()


def test_the_table_names_facts_that_exist() -> None:
    """A misspelled fact would never fire."""
    assert {rule.fact for rule in event_table().state} <= set(GpuState.__dataclass_fields__)


def test_platforms_agree_with_the_hardware_profiles_of_the_same_name() -> None:
    """What a server is made of and what its driver must show are told twice: they are the same numbers."""
    common = set(accelerators()) & set(profiles())
    assert common >= {"hgx-h100-8", "hgx-h200-8", "hgx-b200-8", "gb200-nvl72-tray", "mi300x-8"}
    for name in common:
        tools, server = accelerators()[name], profiles()[name]
        assert (tools.gpus, tools.memory_mib, tools.nvlinks) == (server.gpus, server.gpu_memory_mib, server.nvlinks_per_gpu)
        assert (tools.nvlink_gbps, tools.pcie_generation) == (server.nvlink_gbps, server.gpu_pcie_generation)
