"""Documents of one sweep → HardwareFacts. Pure: the same documents give the same facts."""

from dataclasses import replace

from metalwright.drivers.redfish.documents import Documents, link_of, text_of
from metalwright.drivers.redfish.inventory.identity import read_identity, read_memory_mib, read_tpm
from metalwright.drivers.redfish.inventory.network import read_nics
from metalwright.drivers.redfish.inventory.nvlinks import read_nvlinks, read_nvswitches
from metalwright.drivers.redfish.inventory.processors import read_cpus, read_dimms, read_gpus
from metalwright.drivers.redfish.inventory.sight import ROOT, Sight, sight_of
from metalwright.drivers.redfish.inventory.storage import read_drives
from metalwright.drivers.redfish.inventory.supplies_and_firmware import read_firmware, read_psus
from metalwright.model.hardware import HardwareFacts

_OF_THE_BASEBOARD = ("gpus", "nvswitches", "nvlinks")


def assemble(documents: Documents, wanted_serial: str = "") -> HardwareFacts:
    """Everything one BMC shows of one server. What could not be read is in `gaps`, what was bent to fit in `warnings`."""
    sight = sight_of(documents, wanted_serial)
    _mark_unread_lists(sight)
    gpus = read_gpus(sight)
    facts = HardwareFacts(
        identity=read_identity(sight),
        cpus=read_cpus(sight),
        memory_mib=read_memory_mib(sight),
        dimms=read_dimms(sight),
        gpus=tuple(gpu for _, gpu in gpus),
        nvswitches=read_nvswitches(sight),
        nvlinks=read_nvlinks(sight, gpus),
        nics=read_nics(sight),
        drives=read_drives(sight),
        psus=read_psus(sight),
        firmware=read_firmware(sight),
        bios_version=text_of(sight.host.get("BiosVersion")),
        tpm=read_tpm(sight),
    )
    return replace(facts, gaps=tuple(dict.fromkeys(sight.gaps)), warnings=documents.warnings)


def _mark_unread_lists(sight: Sight) -> None:
    """A system or chassis that could not be read may hold anything: GPUs above all (Q12: the host is off)."""
    for unread, why in sight.documents.unread(link_of(sight.root.get("Systems"))):
        for part in _OF_THE_BASEBOARD:
            sight.gap(part, f"{unread.rpartition('/')[2]}: {why}")
    for unread, why in sight.documents.unread(link_of(sight.root.get("Chassis"))):
        sight.gap("chassis", f"{unread.rpartition('/')[2]}: {why}")
    if ROOT in sight.documents.cut:
        sight.gap("documents", sight.documents.cut[ROOT])
