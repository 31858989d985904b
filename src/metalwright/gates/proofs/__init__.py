"""Is a step done? A pure predicate over looks made after the step began; what was seen before it proves nothing."""

from typing import assert_never

from metalwright.gates.proofs import boot_installed, boot_ram_disk, write_image
from metalwright.model.case import NodeCase
from metalwright.model.observation import Need
from metalwright.model.work import BootInstalled, BootRamDisk, Proof, Step, StepRun, WriteImage

PROOF_NEEDS: dict[str, tuple[Need, ...]] = {
    "boot-ram-disk": boot_ram_disk.NEEDS,
    "write-image": write_image.NEEDS,
    "boot-installed": boot_installed.NEEDS,
}
"""What must be looked at to prove a step, by its kind."""


def prove(step: Step, run: StepRun, case: NodeCase) -> Proof:
    """`Proven`, `NotYet` or `Contradicted`, at `case.now`."""
    match step:
        case BootRamDisk():
            return boot_ram_disk.prove(step, run, case)
        case WriteImage():
            return write_image.prove(step, run, case)
        case BootInstalled():
            return boot_installed.prove(step, run, case)
        case _:
            assert_never(step)
