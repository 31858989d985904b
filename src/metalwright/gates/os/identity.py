"""os.identity: the installed agent runs on the machine of the spec, which is the machine behind the BMC."""

from metalwright.gates.answers import failed, listed, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import boot, power
from metalwright.gates.sights import INSTALLED, POWER
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.observation import Witness
from metalwright.model.placeholders import serial_of


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Spec = installed system = BMC."""
    wanted, installed, outside = serial_of(case.node.serial), boot(case, Witness.RUNNING_SYSTEM), power(case)
    expected = f"serial {case.node.serial}"
    if wanted is None:
        return failed(expected, "the spec's serial is a placeholder", "write the serial of the label to nodes.csv")
    said = {
        "the installed system": installed.system_serial if installed else None,
        "the BMC": outside.identity_serial if outside else None,
    }
    wrong = [f"{text} by {who}" for who, text in said.items() if serial_of(text) not in (wanted, None)]
    if wrong:
        do = "the disk moved to another machine, or the BMC's cable did: compare labels before anything is written"
        return failed(expected, listed(wrong), do)
    silent = [who for who, text in said.items() if serial_of(text) is None]
    if silent:
        do = "program the serial into the board, or waive with a reason"
        return undetermined(f"no usable serial from {listed(silent)}", do, expected=expected)
    return passed(expected, f"serial {wanted} by {listed(said)}")


CHECK = Check(
    id=CheckId("os.identity"),
    gate=Gate.OS,
    version=1,
    title="The system runs on the right machine",
    rule="The serial claimed by the installed agent, the serial of the spec and the serial by the BMC are equal.",
    source="SMBIOS DSP0134 type 1; Redfish ComputerSystem.SerialNumber",
    sights=(INSTALLED, POWER),
    judge=judge,
    fails_early=True,
)
