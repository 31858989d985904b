"""Proves boot-ram-disk: the RAM disk's agent claimed this order's token, after the step began, in a new boot of this machine."""

from metalwright.gates.proofs.boots import fresh_boot
from metalwright.model.case import NodeCase
from metalwright.model.observation import BootSeen, Kind, Need, Witness
from metalwright.model.work import BootRamDisk, NotYet, Proof, Proven, StepRun

NEEDS = (
    Need(kind=Kind.AGENT_BOOT, witness=Witness.RAM_DISK, max_age_s=60.0),
    Need(kind=Kind.BOOT_CLAIMS, witness=Witness.ENDPOINT, max_age_s=60.0),
)


def prove(step: BootRamDisk, run: StepRun, case: NodeCase) -> Proof:
    """A task that vanished or a reset that was accepted proves nothing: only the agent in RAM does."""
    boot = fresh_boot(run, case, Witness.RAM_DISK, step.serial)
    if not isinstance(boot, BootSeen):
        return boot
    if boot.stage != "ram":
        return NotYet(awaiting=f"the RAM disk: an agent of stage {boot.stage} checked in")
    if boot.token_order != run.order:
        return NotYet(awaiting=f"the token of order {run.order}: the agent claimed one of order {boot.token_order}")
    return Proven(seen=f"the RAM disk of serial {boot.system_serial} checked in with boot id {boot.boot_id}")
