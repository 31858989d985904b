"""Every check, in the order it is shown. A check that is not here is not run; one here without a failing test breaks the build."""

from metalwright.gates import firmware, inventory, os, plan
from metalwright.gates.check import Check, SiteCheck
from metalwright.model.judgement import Gate

CHECKS: tuple[Check, ...] = (*inventory.CHECKS, *firmware.CHECKS, *os.CHECKS)

SITE_CHECKS: tuple[SiteCheck, ...] = plan.CHECKS

ALL_CHECKS: tuple[Check | SiteCheck, ...] = (*SITE_CHECKS, *CHECKS)


def checks_of(gate: Gate) -> tuple[Check, ...]:
    """The node checks of one gate, in the order they are shown."""
    return tuple(check for check in CHECKS if check.gate is gate)


def find_check(name: str) -> Check | SiteCheck | None:
    """The check with that id."""
    return next((check for check in ALL_CHECKS if check.id == name), None)
