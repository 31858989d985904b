"""A reading in one line: what was seen; and the lines of what could not be read."""

from collections import Counter

from metalwright.gates.answers import cleaned, listed, number
from metalwright.model.gpu_state import GpuReport
from metalwright.model.kernel_log import KernelLog
from metalwright.model.link_reports import NvLinkReport, TopologyMatrix
from metalwright.model.reading import Reading, Skipped, Unreadable


def summary(reading: Reading) -> str:
    """What the text says, as a person would tell it."""
    match reading.content:
        case Unreadable():
            return "nothing that can be judged"
        case Skipped(commands=commands):
            return cleaned(f"not judged: {listed(dict.fromkeys(commands), 12)}")
        case GpuReport() as report:
            return cleaned(_gpus(report))
        case NvLinkReport(gpus=gpus):
            counters = sum(len(gpu.counters) for gpu in gpus)
            up = sum(link.state == "up" for gpu in gpus for link in gpu.links)
            return f"{number(len(gpus), 'GPU')}, " + (f"{number(counters, 'counter')}" if counters else f"{up} NVLinks up")
        case KernelLog(lines=lines, boots=boots, events=events):
            return f"{number(lines, 'line')}, {number(boots, 'start')}, {number(sum(event.count for event in events), 'event')}"
        case TopologyMatrix(gpus=names, nics=nics):
            return f"{number(len(names), 'GPU')}, {number(len(nics), 'NIC')}"


def trouble(reading: Reading) -> tuple[str, ...]:
    """Why it could not be read, or what of it could not."""
    if isinstance(reading.content, Unreadable):
        return (cleaned(reading.content.reason),)
    if isinstance(reading.content, Skipped):
        return ()
    return tuple(cleaned(gap.why) for gap in reading.content.gaps)


def _gpus(report: GpuReport) -> str:
    models = Counter(gpu.model or "GPU of unknown model" for gpu in report.gpus)
    parts = [f"{count} × {model}" for model, count in models.most_common(4)] or [number(0, "GPU")]
    parts += [f"driver {report.driver}"] if report.driver else []
    parts += [f"{len(report.lost)} complaints of the driver"] if report.lost else []
    return ", ".join(parts)
