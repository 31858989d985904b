"""Starts a machine from its written disk. Done is proven by the installed agent's new boot id."""

from metalwright.executor.boots import act_once
from metalwright.model.hardware import BootTarget
from metalwright.model.work import BootInstalled, Outcome, StepRun
from metalwright.ports import Bmc, SetBoot, SetPower


async def boot_installed(bmc: Bmc, step: BootInstalled, run: StepRun) -> Outcome:
    """Edge action; see `boots.act_once`."""
    boot = SetBoot(target=BootTarget.DISK, once=False)
    return await act_once(bmc, run, (boot, SetPower(to="reset")), f"reset into disk {step.disk_serial}")
