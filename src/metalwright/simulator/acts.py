"""What can happen to a machine from outside: somebody at the rack, the hall's power."""

from collections.abc import Mapping

from metalwright.model.errors import InputError
from metalwright.model.hardware import BootTarget
from metalwright.simulator.fault_changes import index
from metalwright.simulator.machine import SimulatedMachine

ACTS = {
    "power-cut": "the cord is pulled: off at once, unflushed writes are lost; `after_bytes=N` waits for that many bytes written",
    "power-on": "somebody presses the button of a machine that is off; `boot=network` chooses that in its boot menu",
    "reset": "somebody presses the reset button; `boot=network` as for power-on",
}


async def act(machine: SimulatedMachine, name: str, arguments: Mapping[str, str]) -> str:
    """Do it; what was done, in words. InputError for an unknown act or argument."""
    allowed = {"after_bytes"} if name == "power-cut" else {"boot"}
    unknown = sorted(set(arguments) - allowed)
    if name not in ACTS or unknown:
        raise InputError(f"there is no act {' '.join([name, *unknown])}", hint=f"acts: {', '.join(ACTS)}")
    if "boot" in arguments:
        await machine.set_boot(_chosen(arguments["boot"]), True)
    match name:
        case "power-cut" if "after_bytes" in arguments:
            machine.cut_power_after(index(arguments, "after_bytes"))
            return f"{machine.name} loses power after {arguments['after_bytes']} more bytes"
        case "power-cut":
            await machine.cut_power()
        case "power-on":
            await machine.set_power("on")
        case _:
            await machine.set_power("reset")
    return f"{machine.name}: {name}"


def _chosen(boot: str) -> BootTarget:
    if boot not in (BootTarget.NETWORK, BootTarget.DISK):
        raise InputError(f"the boot menu has no {boot}", hint=f"boot={BootTarget.NETWORK} or boot={BootTarget.DISK}")
    return BootTarget(boot)
