"""What the kernel log of a node says about its GPUs, switches, memory, PCIe links and drives."""

from dataclasses import dataclass
from enum import StrEnum

from metalwright.model.hardware import Gap


class Trouble(StrEnum):
    """Kinds of events. XID and SXID carry a code; the others are what their name says."""

    XID = "xid"
    SXID = "sxid"
    FALLEN_OFF = "fallen-off"
    AMD = "amdgpu"
    PCIE_FATAL = "pcie-fatal"
    PCIE_CORRECTED = "pcie-corrected"
    MEMORY_UNCORRECTED = "memory-uncorrected"
    MEMORY_CORRECTED = "memory-corrected"
    MACHINE_CHECK = "machine-check"
    DRIVE = "drive"
    NOUVEAU = "nouveau"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvent:
    """Equal events of one boot and one part, counted. `boot` counts the starts that the log shows, from 0; `line` is the first."""

    kind: Trouble
    boot: int
    part: str
    """PCI address `0000:9b:00`, `nvidia-nvswitch1`, `nvme0`, or empty for the machine."""
    code: int
    text: str
    line: int
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLog:
    """`events` in the order of their first line; `gpus` are (PCI address, UUID, serial) where the driver says them."""

    lines: int
    boots: int
    events: tuple[KernelEvent, ...]
    gpus: tuple[tuple[str, str, str], ...]
    offers: frozenset[str]
    """`nvidia`, `amdgpu`: whose driver speaks in this log; `start`: it reaches back to the last start of the machine."""
    gaps: tuple[Gap, ...] = ()
