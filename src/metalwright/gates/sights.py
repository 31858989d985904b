"""The looks that checks share, with the age at which each stops counting, and why."""

from metalwright.gates.check import Sight
from metalwright.model.observation import Kind, Witness

POWER_S = 600.0
"""Reachability is judged on this: a BMC that was mute for longer is not in order. Shorter polls a fleet without need."""

HARDWARE_S = 7200.0
"""Parts change by hands or by a reset, and a reset begins a new boot (`since_boot`). A sweep costs a BMC some 500 requests, so an
hourly one of thousands of BMCs fits on two cores; a shorter age would not."""

IN_BAND_S = 7 * 86400.0
"""As for the BMC, and an agent's inventory also ends with its boot. Seven days bound what a hot swap could hide."""

FOREVER_S = float("inf")
"""Records of an event (an image was written, a token was claimed) do not age; a later event replaces them."""

POWER = Sight(kind=Kind.BMC_POWER, witnesses=(Witness.OUT_OF_BAND,), max_age_s=POWER_S)
INSTALLED = Sight(kind=Kind.AGENT_BOOT, witnesses=(Witness.RUNNING_SYSTEM,), max_age_s=FOREVER_S)
INSTALLED_IF_ANY = Sight(kind=Kind.AGENT_BOOT, witnesses=(Witness.RUNNING_SYSTEM,), max_age_s=FOREVER_S, optional=True)
RAM_BOOT = Sight(kind=Kind.AGENT_BOOT, witnesses=(Witness.RAM_DISK,), max_age_s=FOREVER_S, optional=True)
WRITTEN = Sight(kind=Kind.DISK_IMAGE, witnesses=(Witness.RAM_DISK,), max_age_s=FOREVER_S)
MEASURED = Sight(kind=Kind.SYSTEM_IMAGE, witnesses=(Witness.RUNNING_SYSTEM,), max_age_s=IN_BAND_S, since_boot=True)
BOOT_CLAIMS = Sight(kind=Kind.BOOT_CLAIMS, witnesses=(Witness.ENDPOINT,), max_age_s=FOREVER_S)


def bmc(*uses: str, powered: bool = True) -> Sight:
    """The hardware as the BMC sees it in the present boot."""
    witnesses = (Witness.OUT_OF_BAND,)
    return Sight(kind=Kind.BMC_HARDWARE, witnesses=witnesses, max_age_s=HARDWARE_S, uses=uses, since_boot=True, powered=powered)


def health(*uses: str) -> Sight:
    """Consoles, XIDs, leaks and coolant as the BMC shows them in the present boot."""
    return Sight(kind=Kind.BMC_HEALTH, witnesses=(Witness.OUT_OF_BAND,), max_age_s=HARDWARE_S, uses=uses, since_boot=True)


def agent(*uses: str) -> Sight:
    """The hardware as the node's agent sees it, from the RAM disk or from the installed system: the newest counts."""
    witnesses = (Witness.RAM_DISK, Witness.RUNNING_SYSTEM)
    return Sight(kind=Kind.AGENT_HARDWARE, witnesses=witnesses, max_age_s=IN_BAND_S, uses=uses, since_boot=True)
