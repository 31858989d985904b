"""firmware.baseline: the versions read back from the BMC are the baseline's, component by component."""

from fnmatch import fnmatchcase

from metalwright.gates.answers import Fault, number, of_parts, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import out_of_band
from metalwright.gates.sights import bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import Firmware
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.spec import FirmwareLine


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Exact text of every version. A component may be a pattern: `HGX_FW_GPU_SXM_*`."""
    lines = _lines(case)
    expected = f"{number(len(lines), 'component')} at the version of the baseline"
    faults = [fault for line in lines for fault in _faults(case, line)]
    silent = [line.component for line in lines if any(part.version is None for part in _matches(case, line))]
    if silent and not faults:
        return undetermined(f"the BMC shows no version of {', '.join(silent[:8])}", "reset the BMC and read again", expected=expected)
    do = "flash the component to the baseline, or change the baseline with an approval"
    return of_parts(faults, of=len(lines), expected=expected, ok=f"{number(len(lines), 'component')} match", do=do)


def _lines(case: NodeCase) -> list[FirmwareLine]:
    return [line for line in case.spec.firmware if line.profile == case.node.profile]


def _matches(case: NodeCase, line: FirmwareLine) -> list[Firmware]:
    return [part for part in out_of_band(case).firmware if fnmatchcase(part.component, line.component)]


def _faults(case: NodeCase, line: FirmwareLine) -> list[Fault]:
    parts = _matches(case, line)
    if not parts:
        return [Fault(part=f"firmware:{line.component}", name=line.component, seen=f"not in the BMC's inventory, expected {line.version}")]
    return [
        Fault(part=f"firmware:{part.component}", name=part.component, seen=f"{part.version}, expected {line.version}")
        for part in parts
        if part.version is not None and part.version.strip() != line.version.strip()
    ]


def _why_not(case: NodeCase) -> str:
    return "" if _lines(case) else f"the spec has no firmware baseline for profile {case.node.profile}"


CHECK = Check(
    id=CheckId("firmware.baseline"),
    gate=Gate.FIRMWARE,
    version=1,
    title="Firmware is the baseline's",
    rule="Every component that the baseline names for the node's profile reports exactly that version.",
    source="`firmware` of the spec; Redfish UpdateService FirmwareInventory (DSP2046 SoftwareInventory.Version)",
    sights=(bmc("firmware"),),
    judge=judge,
    not_applicable=_why_not,
)
