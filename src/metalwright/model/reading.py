"""What came of reading one piece of text: facts, or why it could not be read."""

from dataclasses import dataclass

from metalwright.model.gpu_state import GpuReport
from metalwright.model.host_parts import DriveHealth, PciListing, PortReport
from metalwright.model.kernel_log import KernelLog
from metalwright.model.link_reports import NvLinkReport, TopologyMatrix
from metalwright.model.run_results import CollectiveRun, CopyRun, DiagReport, NcclTopology

Facts = (
    GpuReport
    | NvLinkReport
    | TopologyMatrix
    | KernelLog
    | DiagReport
    | CollectiveRun
    | CopyRun
    | NcclTopology
    | PciListing
    | PortReport
    | DriveHealth
)
"""Each with `offers`, what an output of its kind says, and `gaps`, what of it was cut off or broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """The text is of no shape that is known, or broken. Never a pass."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Parts of a pasted session that no check reads: the help of a tool, a list of processes."""

    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`format` is what the text was taken for (`nvidia-smi -q -x`), `where` names the piece of a longer text."""

    format: str
    content: Facts | Unreadable | Skipped
    where: str = ""
