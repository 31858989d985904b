"""What is to be done with each GPU, from everything that was read of it: the kernel's events, the driver's own action, its states."""

from collections.abc import Iterable, Sequence

from metalwright.codec.events import event_table
from metalwright.gates.readings.kernel_verdicts import PartVerdict, verdicts
from metalwright.model.event_table import GpuVerdict
from metalwright.model.gpu_state import GpuReport, GpuState
from metalwright.model.kernel_log import KernelLog
from metalwright.model.reading import Reading


def part_verdicts(readings: Sequence[Reading]) -> tuple[PartVerdict, ...]:
    """One per GPU or switch that is not simply kept, the heaviest of all readings: GPUs are told apart by PCI address."""
    heaviest: dict[str, PartVerdict] = {}
    for found in _all(readings):
        known = heaviest.get(found.part)
        if known is None or _weight(found) > _weight(known):
            heaviest[found.part] = found
    return tuple(found for found in heaviest.values() if found.verdict is not GpuVerdict.KEEP)


def _all(readings: Sequence[Reading]) -> Iterable[PartVerdict]:
    for reading in readings:
        if isinstance(reading.content, KernelLog):
            yield from verdicts(reading.content)
        elif isinstance(reading.content, GpuReport):
            yield from (found for gpu in reading.content.gpus for found in _of_state(gpu))


def _of_state(gpu: GpuState) -> Iterable[PartVerdict]:
    table, part = event_table(), address_of(gpu)
    asked = (gpu.recovery_action or "none").lower()
    words = [entry for entry in table.recovery if entry.words in asked]
    own = max(words, key=lambda entry: len(entry.words)).verdict if words else None
    if own is not GpuVerdict.KEEP:
        yield PartVerdict(part=part, verdict=own, because=f"the driver asks for: {gpu.recovery_action}", by="the driver")
    for state in table.state:
        if getattr(gpu, state.fact):
            yield PartVerdict(part=part, verdict=state.verdict, because=state.why, by=f"event table {table.version}")


def address_of(gpu: GpuState) -> str:
    """`00000000:9B:00.0` as the kernel writes it: `0000:9b:00`; the place in the output where no address is told."""
    if gpu.address is None:
        return f"GPU {gpu.index}"
    domain, _, rest = gpu.address.lower().partition(":")
    return f"{domain[-4:]}:{rest.partition('.')[0]}"


def _weight(found: PartVerdict) -> float:
    """An event that nobody knows is heavier than keeping, lighter than any known fault."""
    return 0.5 if found.verdict is None else found.verdict.weight
