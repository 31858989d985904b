"""inventory.console: when a machine's network is gone, somebody can still type on its serial console, and read what it said."""

from metalwright.gates.answers import failed, passed
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import health
from metalwright.gates.sights import health as health_sight
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """One way that answers, and one keeper of the text."""
    seen = health(case)
    expected = "a serial console that answers out-of-band, and whose text is kept"
    listed = ", ".join(f"{way.way} port {way.port}" for way in seen.consoles)
    answering = [f"{way.way} port {way.port}" for way in seen.consoles if way.answers]
    if not seen.consoles:
        return failed(expected, "the BMC has no serial console switched on", "switch on SSH or IPMI serial over LAN in the BMC's settings")
    if not answering:
        return failed(expected, f"nothing answers at {listed}", "open these ports between this host and the BMC, or switch the service on")
    declared = case.spec.system.console_log if case.spec.system else None
    keeper = declared or ", ".join(f"{name} of the BMC" for name in seen.console_logs)
    if not keeper:
        do = "log the consoles (conserver, conman), then say so: `console_log` under `system` in site.yaml"
        return failed(expected, f"{', '.join(answering)} answers; nobody keeps its text", do)
    return passed(expected, f"{', '.join(answering)} answers; its text is kept by {keeper}")


CHECK = Check(
    id=CheckId("inventory.console"),
    gate=Gate.INVENTORY,
    version=1,
    title="The serial console is reachable and logged",
    rule="A serial console is on and answers at its port, and the BMC or what `system.console_log` names keeps its text.",
    source="Redfish ComputerSystem.SerialConsole, Manager.SerialConsole (DSP2046); RFC 4253 4.2; IPMI 2.0 13.2; `system` of the spec",
    sights=(health_sight("console"),),
    judge=judge,
)
