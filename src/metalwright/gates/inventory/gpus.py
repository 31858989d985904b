"""inventory.gpus, nvswitches: the accelerators against the hardware profile, as the BMC sees them."""

from collections import Counter
from collections.abc import Callable

from metalwright.gates.answers import Fault, failed, listed, number, of_parts, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import in_band, out_of_band
from metalwright.gates.inventory.host import PROFILE
from metalwright.gates.limits import at_least_percent, limit
from metalwright.gates.serials import model_matches
from metalwright.gates.sights import agent, bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import Gpu
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.placeholders import serial_of

MISSING = "power the node fully off and on; if the GPU stays away, its module or baseboard is to be replaced"


def judge_gpus(case: NodeCase) -> tuple[Answer, ...]:
    """Count, model, unique serials, memory."""
    gpus, wanted = out_of_band(case).gpus, case.profile.gpus
    expected = f"{number(wanted, 'GPU')} {case.profile.gpu_model}, each with a serial of its own and its full memory"
    if len(gpus) != wanted:
        names = listed((gpu.name for gpu in gpus), 16) or "none"
        return failed(expected, f"{number(len(gpus), 'GPU')}: {names}{_absent(gpus, wanted)}", MISSING)
    faults = [fault for gpu in gpus for fault in _faults(case, gpu)] + _doubled(gpus)
    if faults:
        do = "compare the GPU with the purchase list; replace it or correct the profile"
        return of_parts(faults, of=wanted, expected=expected, ok="", do=do)
    unknown = [gpu.name for gpu in gpus if gpu.model is None or serial_of(gpu.serial) is None or _memory_mib(case, gpu) is None]
    if unknown:
        reason = f"model, serial or memory of {listed(unknown)} is not said"
        return undetermined(reason, "update the BMC's firmware, or waive with a reason", expected=expected)
    return passed(expected, f"{number(wanted, 'GPU')}, serials {', '.join(sorted(serial_of(gpu.serial) or '' for gpu in gpus))}")


def judge_nvswitches(case: NodeCase) -> tuple[Answer, ...]:
    """Exact count."""
    switches, wanted = out_of_band(case).nvswitches, case.profile.nvswitches
    expected = number(wanted, "NVSwitch").replace("Switchs", "Switches")
    if len(switches) == wanted:
        return passed(expected, f"{wanted} seen")
    return failed(expected, f"{len(switches)}: {listed(switch.name for switch in switches) or 'none'}", MISSING)


def _faults(case: NodeCase, gpu: Gpu) -> list[Fault]:
    part, memory_mib = f"gpu:{gpu.index}", _memory_mib(case, gpu)
    found = []
    if gpu.model is not None and not model_matches(case.profile.gpu_model, gpu.model):
        found.append(Fault(part=part, name=gpu.name, seen=f"model {gpu.model}"))
    if memory_mib is not None and not at_least_percent(memory_mib, case.profile.gpu_memory_mib, "gpu.memory-floor"):
        found.append(Fault(part=part, name=gpu.name, seen=f"{memory_mib} MiB, at least {_floor_mib(case)} are expected"))
    return found


def _doubled(gpus: tuple[Gpu, ...]) -> list[Fault]:
    counts = Counter(serial for gpu in gpus if (serial := serial_of(gpu.serial)))
    return [
        Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=f"serial {gpu.serial} is shown by {counts[serial]} GPUs")
        for gpu in gpus
        if (serial := serial_of(gpu.serial)) and counts[serial] > 1
    ]


def _memory_mib(case: NodeCase, gpu: Gpu) -> int | None:
    """By the BMC, else by the agent for the GPU of the same serial."""
    if gpu.memory_mib is not None:
        return gpu.memory_mib
    serial = serial_of(gpu.serial)
    return next((other.memory_mib for other in in_band(case).gpus if serial and serial_of(other.serial) == serial), None)


def _floor_mib(case: NodeCase) -> int:
    return case.profile.gpu_memory_mib * limit("gpu.memory-floor").value // 100


def _absent(gpus: tuple[Gpu, ...], wanted: int) -> str:
    """Names the missing position when the others are numbered from 0 or 1 without a doubt."""
    seen = {gpu.index for gpu in gpus}
    first = min(seen, default=0)
    missing = sorted(set(range(min(first, 1), min(first, 1) + wanted)) - seen)
    return f"; missing: {', '.join(f'GPU {index}' for index in missing)}" if seen and len(missing) == wanted - len(seen) else ""


def without(attribute: str, noun: str) -> Callable[[NodeCase], str]:
    """Not applicable where the profile declares none."""

    def why(case: NodeCase) -> str:
        return f"profile {case.profile.name} has no {noun}" if getattr(case.profile, attribute) == 0 else ""

    return why


GPUS = Check(
    id=CheckId("inventory.gpus"),
    gate=Gate.INVENTORY,
    version=1,
    title="GPUs are complete",
    rule="The BMC sees exactly the profile's GPUs: count, model, a serial each that no other has, and memory.",
    source=f"{PROFILE}; threshold gpu.memory-floor",
    sights=(bmc("gpus", "gpus/*/serial", "gpus/*/model"), agent()),
    judge=judge_gpus,
    profile=("gpus", "gpu_model", "gpu_memory_mib"),
    not_applicable=without("gpus", "GPUs"),
    thresholds=("gpu.memory-floor",),
)
NVSWITCHES = Check(
    id=CheckId("inventory.nvswitches"),
    gate=Gate.INVENTORY,
    version=1,
    title="NVSwitches are complete",
    rule="The BMC sees exactly the profile's NVSwitches.",
    source=PROFILE,
    sights=(bmc("nvswitches"),),
    judge=judge_nvswitches,
    profile=("nvswitches",),
    not_applicable=without("nvswitches", "NVSwitches"),
)
