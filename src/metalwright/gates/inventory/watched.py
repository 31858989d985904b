"""inventory.xids and inventory.leaks: what the BMC watches while the machine runs. Old XIDs are history: only the present boot counts."""

from metalwright.codec.events import event_table
from metalwright.gates.answers import Fault, failed, listed, of_parts, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import health
from metalwright.gates.freshness import boot_floor
from metalwright.gates.sights import INSTALLED_IF_ANY, RAM_BOOT
from metalwright.gates.sights import health as health_sight
from metalwright.model.case import NodeCase
from metalwright.model.event_table import GpuVerdict
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.observation import Witness, XidSeen

_HARMLESS = (GpuVerdict.KEEP, GpuVerdict.DRAIN_AFTER_JOB)


def judge_xids(case: NodeCase) -> tuple[Answer, ...]:
    """Faults of the present boot by the event table; one that nobody knows, or without a time, cannot be judged."""
    seen, floor = health(case).xids, boot_floor(case, Witness.OUT_OF_BAND)
    expected = "no XID since the machine started that asks for more than a drain after the job"
    if case.profile.gpus == 0:
        return passed(expected, "no GPUs")
    if floor == 0.0:
        return undetermined(
            "no agent has said yet when this machine started", "it comes when the node's agent checks in", expected=expected
        )
    present = [xid for xid in seen if xid.at is None or xid.at >= floor]
    bad = [xid for xid in present if xid.at is not None and _verdict(xid) not in (*_HARMLESS, None)]
    if bad:
        faults = [Fault(part=xid.part, name=xid.part, seen=f"XID {xid.code}: {_verdict(xid)}") for xid in bad]
        return of_parts(faults, of=case.profile.gpus, expected=expected, ok="", do="do what the verdict says, then start the machine again")
    doubtful = [xid for xid in present if _verdict(xid) not in _HARMLESS]
    if doubtful:
        names = listed([f"{xid.part} XID {xid.code}" for xid in doubtful])
        reason = f"{names}: without a time, or in no table of ours"
        return undetermined(reason, "read it in the BMC's log, clear the log once it is settled, or waive", expected=expected)
    return passed(expected, f"{len(present)} since the start, {len(seen) - len(present)} older")


def judge_leaks(case: NodeCase) -> tuple[Answer, ...]:
    """Every detector is dry. Machines without detectors have nothing to say."""
    leaks = health(case).leaks
    expected = "every leak detector is dry"
    wet = [leak for leak in leaks if leak.state in ("warning", "critical")]
    if wet:
        seen = listed([f"{leak.name} is {leak.state}" for leak in wet])
        return failed(expected, seen, "stop the coolant and the power of this tray, look for water, dry it, then clear the detector")
    unknown = [leak.name for leak in leaks if leak.state == "unknown"]
    if unknown:
        return undetermined(f"{listed(unknown)}: the BMC gives no state", "check the detector's cable, or waive", expected=expected)
    return passed(expected, f"{len(leaks)} detectors, all dry" if leaks else "the BMC shows no leak detector")


def _verdict(xid: XidSeen) -> GpuVerdict | None:
    """The table's; None for a code that it does not have."""
    return next((group.verdict for group in event_table().group if group.kind == "xid" and xid.code in group.codes), None)


XIDS = Check(
    id=CheckId("inventory.xids"),
    gate=Gate.INVENTORY,
    version=1,
    title="The BMC's log has no grave GPU fault",
    rule="No XID in the baseboard's log since the machine's start has a verdict above drain-after-job in `data/events.toml`.",
    source="LogServices/XID of HGX GPU chassis (DGX H100 tree); data/events.toml",
    sights=(health_sight("xids"), RAM_BOOT, INSTALLED_IF_ANY),
    judge=judge_xids,
)
LEAKS = Check(
    id=CheckId("inventory.leaks"),
    gate=Gate.INVENTORY,
    version=1,
    title="No leak",
    rule="No leak detector that the BMC shows reports a warning or worse.",
    source="Redfish LeakDetector.DetectorState (DSP2046)",
    sights=(health_sight("leaks"),),
    judge=judge_leaks,
)
