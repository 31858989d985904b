"""One attempt of one step: who does it. The order says everything; nothing is chosen here."""

from typing import assert_never

from metalwright.executor.boot_installed import boot_installed
from metalwright.executor.boot_ram_disk import boot_ram_disk
from metalwright.executor.write_image import write_image
from metalwright.model.work import BootInstalled, BootRamDisk, Outcome, Step, StepRun, WriteImage
from metalwright.ports import Bmc


async def execute(bmc: Bmc, step: Step, run: StepRun) -> Outcome:
    """Start it, wait, or fail. A returned `Started` is no proof: `gates.proofs` says when it is done."""
    match step:
        case BootRamDisk():
            return await boot_ram_disk(bmc, step, run)
        case WriteImage():
            return await write_image(step, run)
        case BootInstalled():
            return await boot_installed(bmc, step, run)
        case _:
            assert_never(step)
