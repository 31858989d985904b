"""Every check over tool output, in the order it is shown."""

from metalwright.gates.readings import (
    gpu_fabric,
    gpu_health,
    gpu_identity,
    gpu_load,
    gpu_partition,
    gpu_settings,
    host,
    kernel,
    links,
    runs,
)
from metalwright.gates.readings.check import ReadingCheck

READING_CHECKS: tuple[ReadingCheck, ...] = (
    *gpu_identity.CHECKS,
    *gpu_health.CHECKS,
    *gpu_settings.CHECKS,
    *gpu_partition.CHECKS,
    *gpu_load.CHECKS,
    *gpu_fabric.CHECKS,
    *links.CHECKS,
    *host.CHECKS,
    *kernel.CHECKS,
    *runs.CHECKS,
)


def find_reading_check(name: str) -> ReadingCheck | None:
    """The check with that id."""
    return next((check for check in READING_CHECKS if check.id == name), None)
