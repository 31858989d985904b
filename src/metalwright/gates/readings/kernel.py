"""service.xid, service.mass-event, service.pcie-errors, service.memory-errors, service.drive-errors, os.nouveau: the kernel log, judged."""

from collections import Counter

from metalwright.gates.answer import Answer
from metalwright.gates.answers import Fault, failed, listed, number, of_parts, passed, undetermined
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import ReadingCheck
from metalwright.gates.readings.kernel_verdicts import PartVerdict, verdicts
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.event_table import GpuVerdict
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.kernel_log import KernelEvent, KernelLog, Trouble

DO = {
    GpuVerdict.DRAIN_AFTER_JOB: "let the job end, take no new one, then look at the GPU",
    GpuVerdict.DRAIN_NOW: "stop the job and drain the node",
    GpuVerdict.RESET: "drain the node and reset the GPU",
    GpuVerdict.REBOOT: "drain the node and restart it",
    GpuVerdict.RESEAT: "drain the node, power it off, reseat the GPU",
    GpuVerdict.RMA: "drain the node, keep this log, return the GPU (RMA)",
}


def judge_events(log: KernelLog, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """Every GPU and switch is kept."""
    expected = "no event that takes a GPU out of service"
    found = verdicts(log)
    bad = [each for each in found if each.verdict not in (GpuVerdict.KEEP, None)]
    if bad:
        worst = max((each.verdict for each in bad if each.verdict is not None), key=lambda verdict: verdict.weight)
        faults = [_fault(each, log) for each in bad]
        return of_parts(faults, of=max(len(found), 1), expected=expected, ok="", do=_mass(log) or DO[worst])
    unknown = [each for each in found if each.verdict is None]
    if unknown:
        reason = f"no table knows {listed(f'{_who(each.part, log)}: {each.because}' for each in unknown)}"
        return undetermined(reason, "look the code up in NVIDIA's XID catalogue; update metalwright", expected=expected)
    if not {"nvidia", "amdgpu"} & log.offers:
        return undetermined("no GPU driver speaks in this log", "load the driver, or take the log of the kernel", expected=expected)
    if "start" not in log.offers:
        reason = "the log does not reach back to the start of the machine: earlier events are unknown"
        return undetermined(reason, "journalctl -k -b gives the whole log of a start", expected=expected)
    return passed(expected, listed(_kept(each) for each in found) or f"none in {number(log.lines, 'line')}")


def _fault(each: PartVerdict, log: KernelLog) -> Fault:
    return Fault(part=f"gpu:{each.part}", name=_who(each.part, log), seen=f"{each.verdict} by {each.by}: {each.because}")


def _mass(log: KernelLog) -> str:
    """Many GPUs with one code at once are one incident, and draining them one by one is not its cure."""
    at_once = Counter((event.kind, event.code) for event in log.events if event.boot == log.boots - 1 and event.code)
    code = next((code for (_, code), parts in at_once.most_common(1) if parts > limit("xid.mass").value), None)
    return f"one incident, not many: XID {code} on many GPUs; look at switches, power, cooling and driver before draining" if code else ""


def _who(part: str, log: KernelLog) -> str:
    serial = next((serial for address, _, serial in log.gpus if address == part), "")
    return part + (f" (serial {serial})" if serial else "")


def _kept(each: PartVerdict) -> str:
    return f"{each.part} keeps on: {each.because[:80]}"


def _of_kind(kinds: tuple[Trouble, ...], log: KernelLog) -> list[KernelEvent]:
    return [event for event in log.events if event.kind in kinds and event.boot == log.boots - 1]


def judge_pcie(log: KernelLog, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No uncorrected error, few corrected ones on a link."""
    most = limit("pcie.corrected").value
    expected = f"no uncorrected PCIe error, at most {most} corrected on a link"
    fatal = _of_kind((Trouble.PCIE_FATAL,), log)
    often = [event for event in _of_kind((Trouble.PCIE_CORRECTED,), log) if event.count > most]
    faults = [Fault(part=f"pci:{event.part}", name=event.part, seen=f"{event.kind.value} ×{event.count}") for event in (*fatal, *often)]
    do = "reseat the card or its riser; compare the link's width and generation; then replace it"
    return of_parts(faults, of=max(len(faults), 1), expected=expected, ok="none", do=do)


def judge_memory(log: KernelLog, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No uncorrected error and no machine check, few corrected ones on a controller."""
    most = limit("memory.corrected").value
    expected = f"no uncorrected memory error, no machine check, at most {most} corrected errors on a controller"
    bad = _of_kind((Trouble.MEMORY_UNCORRECTED, Trouble.MACHINE_CHECK), log)
    often = [event for event in _of_kind((Trouble.MEMORY_CORRECTED,), log) if event.count > most]
    faults = [
        Fault(part=f"memory:{event.part or 'cpu'}", name=event.part or "CPU", seen=f"{event.text[:120]} ×{event.count}")
        for event in (*bad, *often)
    ]
    do = "find the DIMM by its label in the BMC's log, swap it with another slot, then replace what follows the error"
    return of_parts(faults, of=max(len(faults), 1), expected=expected, ok="none", do=do)


def judge_drives(log: KernelLog, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No drive was lost or timed out."""
    faults = [Fault(part=f"drive:{event.part}", name=event.part, seen=event.text[:160]) for event in _of_kind((Trouble.DRIVE,), log)]
    do = "read nvme smart-log; reseat the drive; then replace it"
    return of_parts(faults, of=max(len(faults), 1), expected="no drive down, timed out or removed", ok="none", do=do)


def judge_nouveau(log: KernelLog, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """The free driver has not taken the GPUs."""
    expected = "nouveau is not loaded"
    seen = _of_kind((Trouble.NOUVEAU,), log)
    if seen:
        return failed(expected, f"{seen[0].text[:120]}", "blacklist nouveau, rebuild the initramfs, reboot")
    return passed(expected, "not in this log")


def _without_start(log: KernelLog) -> str:
    """An absence in part of a log says nothing; a fault that is seen counts all the same."""
    harm = (Trouble.PCIE_FATAL, Trouble.MEMORY_UNCORRECTED, Trouble.MACHINE_CHECK, Trouble.DRIVE, Trouble.NOUVEAU)
    is_telling = "start" in log.offers or _of_kind((*harm, Trouble.PCIE_CORRECTED, Trouble.MEMORY_CORRECTED), log)
    return "" if is_telling else "needs a log that reaches back to the start of the machine"


def _check(name: str, title: str, rule: str, source: str, **more: object) -> ReadingCheck:
    gate = Gate.OS if name.startswith("os") else Gate.SERVICE
    fixed = {"id": CheckId(name), "gate": gate, "version": 1, "title": title, "rule": rule, "source": source, "reads": KernelLog}
    return ReadingCheck(**(fixed | more))  # type: ignore[arg-type]  # the fields of ReadingCheck


CHECKS = (
    _check(
        "service.xid",
        "No event takes a GPU out of service",
        "Of every GPU and switch in the log: the driver's own recovery action (XID 154), else the event table, says keep.",
        "NVIDIA XID catalogue and Fabric Manager User Guide through data/events.toml; thresholds xid.same-tpc, xid.mass",
        judge=judge_events,
        thresholds=("xid.same-tpc", "xid.mass"),
    ),
    _check(
        "service.pcie-errors",
        "PCIe links are clean",
        "No uncorrected PCIe error since the last start, and few corrected ones on one link.",
        "PCI Express AER as Linux logs it (Documentation/PCI/pcieaer-howto); threshold pcie.corrected",
        judge=judge_pcie,
        missing=_without_start,
        thresholds=("pcie.corrected",),
    ),
    _check(
        "service.memory-errors",
        "Main memory is clean",
        "No uncorrected memory error and no machine check since the last start, and few corrected errors on one controller.",
        "Linux EDAC and MCE logs; threshold memory.corrected",
        judge=judge_memory,
        missing=_without_start,
        thresholds=("memory.corrected",),
    ),
    _check(
        "service.drive-errors",
        "No drive was lost",
        "No NVMe controller was down, timed out or was removed since the last start.",
        "Linux nvme driver log",
        judge=judge_drives,
        missing=_without_start,
    ),
    _check(
        "os.nouveau",
        "nouveau is absent",
        "The kernel log of the last start shows no nouveau.",
        "NVIDIA driver installation guide: nouveau must be disabled",
        judge=judge_nouveau,
        missing=_without_start,
    ),
)
