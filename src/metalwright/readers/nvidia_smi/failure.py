"""What nvidia-smi prints when it cannot do its work: no driver, no device, a lost GPU."""

import re

from metalwright.model.gpu_state import GpuReport
from metalwright.model.hardware import Gap

FORMAT = "nvidia-smi failure"
WORDS = re.compile(
    r"nvidia-smi has failed because .{0,200}|failed to initialize nvml.{0,200}|no devices were found.{0,80}"
    r"|unable to determine the device handle for gpu.{0,200}|nvml: .{0,100}not loaded",
    re.I,
)
MAX_BYTES = 4000
"""A failure is a few lines: longer texts that hold such words are something else."""


def looks_like(text: str) -> bool:
    return len(text) <= MAX_BYTES and WORDS.search(text) is not None


def read(text: str) -> GpuReport:
    """A report of nothing but what is lost: a gap, and never a pass."""
    said = tuple(dict.fromkeys(match.group().strip()[:200] for match in WORDS.finditer(text)))
    return GpuReport(lost=said, offers=frozenset(("lost",)), gaps=(Gap(what="gpus", why="the tool could not read the GPUs"),))
