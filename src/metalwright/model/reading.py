"""What came of reading one piece of text: facts, or why it could not be read."""

from dataclasses import dataclass

from metalwright.model.gpu_state import GpuReport

Facts = GpuReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """The text is of no shape that is known, or broken. Never a pass."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`format` is what the text was taken for (`nvidia-smi -q -x`), `where` names the piece of a longer text."""

    format: str
    content: Facts | Unreadable
    where: str = ""
