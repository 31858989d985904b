"""Proves boot-installed: the installed system's agent checked in, after the step began, with a boot id never seen before."""

from metalwright.gates.proofs.boots import fresh_boot
from metalwright.model.case import NodeCase
from metalwright.model.observation import BootSeen, Kind, Need, Witness
from metalwright.model.work import BootInstalled, NotYet, Proof, Proven, StepRun

NEEDS = (
    Need(kind=Kind.AGENT_BOOT, witness=Witness.RUNNING_SYSTEM, max_age_s=60.0),
    Need(kind=Kind.BOOT_CLAIMS, witness=Witness.ENDPOINT, max_age_s=60.0),
)


def prove(step: BootInstalled, run: StepRun, case: NodeCase) -> Proof:
    """What runs is judged by the `os` gate; this says only that a system booted from the disk and is the right machine."""
    boot = fresh_boot(run, case, Witness.RUNNING_SYSTEM, step.serial)
    if not isinstance(boot, BootSeen):
        return boot
    if boot.stage != "installed":
        return NotYet(awaiting=f"the installed system: an agent of stage {boot.stage} checked in")
    ram = case.seen(Kind.AGENT_BOOT, Witness.RAM_DISK)
    if ram is not None and isinstance(ram.body, BootSeen) and ram.body.boot_id == boot.boot_id:
        return NotYet(awaiting="a boot of its own: the agent shows the RAM disk's boot id")
    return Proven(seen=f"the installed system of serial {boot.system_serial} checked in with boot id {boot.boot_id}")
