"""Which disk gets the system: a pure choice by the layout's rule, the same for planner and gate."""

from collections.abc import Sequence

from metalwright.gates.answers import listed
from metalwright.gates.serials import same_serial
from metalwright.model.hardware import Drive, HardwareFacts
from metalwright.model.placeholders import serial_of
from metalwright.model.spec import DiskLayout


def choose_system_disk(facts: HardwareFacts, layout: DiskLayout) -> Drive | str:
    """The disk, or why there is none. Never one without a serial: what cannot be named is never written.

    Rules: `smallest-nvme` (ties go to the lowest serial), `nvme:<slot>` and `serial:<serial>`.
    """
    rule, _, value = layout.system.partition(":")
    if rule == "serial" and value:
        return _one([drive for drive in facts.drives if same_serial(drive.serial, value)], f"serial {value}", facts)
    if rule == "nvme" and value:
        return _one([drive for drive in nvme_drives(facts) if value in (drive.slot, drive.name, drive.device)], f"NVMe slot {value}", facts)
    if layout.system == "smallest-nvme":
        return _smallest(nvme_drives(facts))
    return f"disks.system `{layout.system}` is no rule: use smallest-nvme, nvme:<slot> or serial:<serial>"


def nvme_drives(facts: HardwareFacts) -> tuple[Drive, ...]:
    """Drives that speak NVMe."""
    return tuple(drive for drive in facts.drives if is_nvme(drive))


def is_nvme(drive: Drive) -> bool:
    """By protocol where the witness names it, else by the in-band name."""
    if drive.protocol:
        return "nvme" in drive.protocol.lower()
    return (drive.device or drive.name).lower().startswith("nvme")


def _smallest(drives: Sequence[Drive]) -> Drive | str:
    if not drives:
        return "no NVMe drive was seen in-band"
    unknown = [drive.name for drive in drives if drive.size_bytes is None or serial_of(drive.serial) is None]
    if unknown:
        return f"size or serial of {listed(unknown)} is unknown: the smallest cannot be told"
    smallest = min(drives, key=lambda drive: (drive.size_bytes or 0, drive.serial or ""))
    if sum(same_serial(drive.serial, smallest.serial) for drive in drives) > 1:
        return f"two drives show serial {smallest.serial}: neither is written"
    return smallest


def _one(found: Sequence[Drive], what: str, facts: HardwareFacts) -> Drive | str:
    if len(found) == 1 and serial_of(found[0].serial) is not None:
        return found[0]
    if len(found) == 1:
        return f"the drive at {what} shows no serial: a disk without identity is never written"
    seen = listed(f"{drive.slot or drive.device or drive.name} {drive.serial or '(no serial)'}" for drive in facts.drives) or "no drive"
    return f"{len(found)} drives at {what}, one is needed; seen: {seen}"
