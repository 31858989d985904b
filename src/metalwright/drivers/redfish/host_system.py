"""Which of a BMC's systems is the host that boots: by its properties, since a DGX also lists its GPU baseboard as a system. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from metalwright.drivers.redfish.documents import inner, link_of, text_of
from metalwright.drivers.redfish.vendors import Vendor

Document = Mapping[str, Any]


def same_serial(seen: str | None, wanted: str) -> bool:
    """Serials compare without case and outer blanks."""
    return seen is not None and seen.strip().upper() == wanted.strip().upper()


def choose_host(systems: Sequence[tuple[str, Document]], vendor: Vendor, wanted_serial: str = "") -> str | None:
    """Path of the host. Among several that boot, the one with the wanted serial (two nodes may share a BMC); else the first.

    None when no system was read.
    """
    booting = [(path, system) for path, system in systems if _boots(system)] or list(systems)
    for path, system in booting:
        if wanted_serial and same_serial(vendor.system_serial(system), wanted_serial):
            return path
    ranked = sorted(booting, key=lambda item: -_likeness(item[1]))
    return ranked[0][0] if ranked else None


def _boots(system: Document) -> bool:
    """A host has a boot source override or a boot order; baseboards, DPUs' shells and bogus members have neither (Q54)."""
    boot = inner(system, "Boot")
    return "BootSourceOverrideTarget" in boot or bool(boot.get("BootOrder"))


def _likeness(system: Document) -> int:
    marks = (
        link_of(system.get("Bios")) is not None,
        text_of(system.get("BiosVersion")) is not None,
        "#ComputerSystem.Reset" in inner(system, "Actions"),
        text_of(system.get("SerialNumber")) is not None,
        system.get("SystemType") == "Physical",
    )
    return sum(marks)
