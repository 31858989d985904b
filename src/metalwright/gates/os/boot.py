"""os.boot: the installed system's agent checked in, in a boot of its own, and still speaks."""

from metalwright.gates.answers import failed, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import boot, required
from metalwright.gates.limits import limit
from metalwright.gates.sights import INSTALLED, RAM_BOOT
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.observation import BootSeen, Kind, Witness

EXPECTED = "the installed system's agent checked in, in a boot of its own"


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Own stage, own boot id, newer than the RAM disk, not silent."""
    system, ram = required(case, Kind.AGENT_BOOT, Witness.RUNNING_SYSTEM, BootSeen), boot(case, Witness.RAM_DISK)
    if system.stage != "installed" or not system.boot_id:
        seen = f"an agent of stage {system.stage or '(none)'} with boot id {system.boot_id or '(none)'}"
        return failed(EXPECTED, seen, "the token of the installed system was used by something else: write the image again")
    if ram is not None and ram.boot_id == system.boot_id:
        do = "the node did not leave its RAM disk: boot it from the disk"
        return failed(EXPECTED, f"boot id {system.boot_id}, which is the RAM disk's", do)
    if ram is not None and ram.claimed_at > system.claimed_at:
        return undetermined("the node was last seen in its RAM disk", "boot it from the disk", expected=EXPECTED)
    silence = limit("agent.silence").value * max(1.0, case.patience)
    if case.now - system.last_contact_at > silence:
        do = "look at the console: metalwright node console; the system may hang or its network may be down"
        return undetermined(f"the agent is silent for more than {silence:.0f} s", do, expected=EXPECTED)
    return passed(EXPECTED, f"boot id {system.boot_id}")


CHECK = Check(
    id=CheckId("os.boot"),
    gate=Gate.OS,
    version=1,
    title="The installed system runs",
    rule="The installed system's agent claimed its token in a boot that is not the RAM disk's, and spoke within the silence limit.",
    source="Linux boot_id (random(4)); metalwright's boot protocol; threshold agent.silence",
    sights=(INSTALLED, RAM_BOOT),
    judge=judge,
    thresholds=("agent.silence",),
)
