"""inventory.witnesses-agree: the BMC and the agent on the node describe the same machine. A contradiction names both."""

from collections.abc import Callable, Iterable

from metalwright.gates.answers import failed, listed, passed
from metalwright.gates.check import Answer, Check
from metalwright.gates.disk_choice import nvme_drives
from metalwright.gates.facts import in_band, out_of_band
from metalwright.gates.limits import limit
from metalwright.gates.sights import agent, bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import HardwareFacts, Nic
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.placeholders import serial_of

GPU_CLASSES = {"10de": ("0300", "0302"), "1002": ("0300", "0302", "0380", "1200")}
"""PCI vendor → base and sub classes of its GPUs: VGA, 3D and other display controllers, and processing accelerators, as which
AMD Instinct shows itself (PCI Code and ID Assignment Specification; PCI ID repository). NVSwitches are 0680 and no GPUs."""


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Compare what both can see."""
    outside, inside = out_of_band(case), in_band(case)
    contradictions = [text for compare in COMPARISONS for text in compare(outside, inside)]
    expected = "the BMC and the agent see the same GPUs, NICs, NVMe drives and memory"
    if contradictions:
        do = "one of the two is wrong or a part fell off its bus: power the node fully off and on, then look at the part named"
        return failed(expected, listed(contradictions, 6), do)
    seen = f"{len(outside.gpus)} GPUs, {len(outside.nics)} NICs, {len(outside.drives)} drives by the BMC are there in-band"
    return passed(expected, seen)


def gpus_on_pci(facts: HardwareFacts) -> int:
    """GPUs by the PCI tree where the witness has one: a GPU without a driver is still there."""
    if facts.pci:
        return sum(device.device_class[:4] in GPU_CLASSES.get(device.vendor, ()) for device in facts.pci)
    return len(facts.gpus)


def _gpus(outside: HardwareFacts, inside: HardwareFacts) -> list[str]:
    found = []
    if len(outside.gpus) != gpus_on_pci(inside):
        found.append(f"GPUs: {len(outside.gpus)} by the BMC, {gpus_on_pci(inside)} on the PCI bus by the agent")
    seen = _serials(gpu.serial for gpu in inside.gpus)
    return found + (_differences("GPU", _serials(gpu.serial for gpu in outside.gpus), seen) if len(seen) == len(inside.gpus) > 0 else [])


def _nics(outside: HardwareFacts, inside: HardwareFacts) -> list[str]:
    """Each NIC of the BMC is found in-band by MAC or serial. In-band ones that the BMC does not manage are no contradiction."""
    macs = {mac for nic in inside.nics for mac in nic.macs}
    serials = _serials(nic.serial for nic in inside.nics)
    named = [nic for nic in outside.nics if nic.macs or serial_of(nic.serial)]
    lost = [nic for nic in named if not set(nic.macs) & macs and serial_of(nic.serial) not in serials]
    nameless = [nic for nic in inside.nics if not nic.macs and not serial_of(nic.serial)]
    if len(lost) <= len(nameless):
        return []
    return [f"NIC {_nic_name(nic)} by the BMC is not seen by the agent" for nic in lost]


def _drives(outside: HardwareFacts, inside: HardwareFacts) -> list[str]:
    """By serial; a BMC that shows drives without serials leaves as many of the agent's drives unnamed."""
    mine, theirs = _serials(d.serial for d in nvme_drives(outside)), _serials(d.serial for d in nvme_drives(inside))
    unnamed = sum(serial_of(drive.serial) is None for drive in outside.drives)
    return _differences("drive", mine, theirs if len(theirs - mine) > unnamed else theirs & mine)


def _memory(outside: HardwareFacts, inside: HardwareFacts) -> list[str]:
    if outside.memory_mib is None or inside.memory_mib is None:
        return []
    allowed = max(outside.memory_mib * limit("memory.witness-difference").value // 100, limit("memory.witness-slack").value)
    if abs(outside.memory_mib - inside.memory_mib) <= allowed:
        return []
    return [f"memory: {outside.memory_mib} MiB by the BMC, {inside.memory_mib} MiB by the agent"]


COMPARISONS: tuple[Callable[[HardwareFacts, HardwareFacts], list[str]], ...] = (_gpus, _nics, _drives, _memory)


def _differences(noun: str, outside: frozenset[str], inside: frozenset[str]) -> list[str]:
    only_outside = [f"{noun} {serial} by the BMC is not seen by the agent" for serial in sorted(outside - inside)]
    return only_outside + [f"{noun} {serial} by the agent is not seen by the BMC" for serial in sorted(inside - outside)]


def _serials(texts: Iterable[str | None]) -> frozenset[str]:
    return frozenset(serial for text in texts if (serial := serial_of(text)) is not None)


def _nic_name(nic: Nic) -> str:
    return f"{nic.name} ({', '.join((*nic.macs, *filter(None, [serial_of(nic.serial)])))})"


CHECK = Check(
    id=CheckId("inventory.witnesses-agree"),
    gate=Gate.INVENTORY,
    version=1,
    title="Two witnesses agree",
    rule="Counts and serials of GPUs, MACs of NICs, serials of NVMe drives and the memory size are the same by Redfish and in-band.",
    source="metalwright: two witnesses of one fact are compared; thresholds memory.witness-difference, memory.witness-slack",
    sights=(
        bmc("gpus", "nics", "drives", "memory", "memory_mib"),
        agent("gpus", "pci", "nics", "drives", "memory", "memory_mib"),
    ),
    judge=judge,
    thresholds=("memory.witness-difference", "memory.witness-slack"),
)
