"""A reading in one line: what was seen; and the lines of what could not be read."""

from collections import Counter
from functools import singledispatch

from metalwright.gates.answers import cleaned, listed, number
from metalwright.model.gpu_state import GpuReport
from metalwright.model.host_parts import DriveHealth, PciListing, PortReport
from metalwright.model.kernel_log import KernelLog
from metalwright.model.link_reports import NvLinkReport, TopologyMatrix
from metalwright.model.reading import Reading, Skipped, Unreadable
from metalwright.model.run_results import CollectiveRun, CopyRun, DiagReport, NcclTopology


def summary(reading: Reading) -> str:
    """What the text says, as a person would tell it."""
    return cleaned(_told(reading.content))


def trouble(reading: Reading) -> tuple[str, ...]:
    """Why it could not be read, or what of it could not."""
    if isinstance(reading.content, Unreadable):
        return (cleaned(reading.content.reason),)
    if isinstance(reading.content, Skipped):
        return ()
    return tuple(cleaned(gap.why) for gap in reading.content.gaps)


@singledispatch
def _told(_: object) -> str:
    return "nothing that can be judged"


@_told.register
def _(skipped: Skipped) -> str:
    return f"not judged: {listed(dict.fromkeys(skipped.commands), 12)}"


@_told.register
def _(report: GpuReport) -> str:
    models = Counter(gpu.model or "GPU of unknown model" for gpu in report.gpus)
    parts = [f"{count} × {model}" for model, count in models.most_common(4)] or [number(0, "GPU")]
    parts += [f"driver {report.driver}"] if report.driver else []
    parts += [f"{len(report.lost)} complaints of the driver"] if report.lost else []
    return ", ".join(parts)


@_told.register
def _(report: NvLinkReport) -> str:
    counters = sum(len(gpu.counters) for gpu in report.gpus)
    up = sum(link.state == "up" for gpu in report.gpus for link in gpu.links)
    return f"{number(len(report.gpus), 'GPU')}, " + (number(counters, "counter") if counters else f"{up} NVLinks up")


@_told.register
def _(matrix: TopologyMatrix) -> str:
    return f"{number(len(matrix.gpus), 'GPU')}, {number(len(matrix.nics), 'NIC')}"


@_told.register
def _(log: KernelLog) -> str:
    return f"{number(log.lines, 'line')}, {number(log.boots, 'start')}, {number(sum(event.count for event in log.events), 'event')}"


@_told.register
def _(report: DiagReport) -> str:
    tests = len({result.test for result in report.results})
    return f"DCGM {report.version or '?'}, {number(tests, 'test')} on {number(report.gpus, 'GPU')}"


@_told.register
def _(run: CollectiveRun) -> str:
    where = f"{run.ranks} ranks on {number(run.hosts, 'host')}"
    return f"{run.operation or 'a collective'}, {where}, {number(len(run.sizes), 'message')}, algorithm {run.algorithm}"


@_told.register
def _(run: CopyRun) -> str:
    return f"{number(len(run.cells), 'test')} on {number(len(run.models), 'GPU')}: {listed(dict.fromkeys(run.models))}"


@_told.register
def _(listing: PciListing) -> str:
    kinds = Counter(each.kind for each in listing.functions if each.kind)
    return f"{number(len(listing.functions), 'PCI function')}: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


@_told.register
def _(report: PortReport) -> str:
    return f"{number(len(report.ports), 'port')}: {listed(port.name for port in report.ports)}"


@_told.register
def _(drive: DriveHealth) -> str:
    return f"one drive, {drive.used if drive.used is not None else '?'} % used"


@_told.register
def _(topology: NcclTopology) -> str:
    return f"{number(len(topology.gpus), 'GPU')}, {number(topology.nics, 'NIC port')}"
