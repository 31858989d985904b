"""inventory.bmc-answers: the BMC can be read, and all it says is about one machine.

A BMC that is silent, refuses us or shows another certificate is *undetermined*, each in its own words (`gates.freshness`).
"""

from metalwright.gates.answers import failed, passed
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import out_of_band, power
from metalwright.gates.sights import POWER, bmc
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.placeholders import serial_of


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Both reads name the same machine."""
    seen_power = power(case)
    by_power = serial_of(seen_power.identity_serial) if seen_power else None
    by_hardware = serial_of(out_of_band(case).identity.system_serial)
    expected = f"{case.node.bmc} answers, and every answer is about one machine"
    if by_power and by_hardware and by_power != by_hardware:
        seen = f"its power reading is of serial {by_power}, its inventory of serial {by_hardware}"
        return failed(expected, seen, "two machines answer at one address: check the network for a doubled address or a swapped cable")
    return passed(expected, "power state and hardware inventory were read")


CHECK = Check(
    id=CheckId("inventory.bmc-answers"),
    gate=Gate.INVENTORY,
    version=1,
    title="The BMC answers",
    rule="The BMC gives its power state and its hardware inventory over its pinned certificate with our account, both of one machine.",
    source="Redfish DSP0266 (sessions, TLS); DSP2046 ComputerSystem",
    sights=(POWER, bmc(powered=False)),
    judge=judge,
)
