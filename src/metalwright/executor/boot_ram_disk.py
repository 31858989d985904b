"""Starts a machine into its RAM disk: next boot from the network, then a reset. Done is proven by the agent that checks in."""

from metalwright.executor.boots import act_once
from metalwright.model.hardware import BootTarget
from metalwright.model.work import BootRamDisk, Outcome, StepRun
from metalwright.ports import Bmc, SetBoot, SetPower


async def boot_ram_disk(bmc: Bmc, step: BootRamDisk, run: StepRun) -> Outcome:
    """Edge action; see `boots.act_once` for what happens after an interruption."""
    boot = SetBoot(target=BootTarget.NETWORK, once=True, path=step.boot_path)
    return await act_once(bmc, run, (boot, SetPower(to="reset")), "reset into the network boot")
