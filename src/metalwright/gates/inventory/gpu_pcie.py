"""inventory.gpu-pcie: what slot and GPU can do, and before the first installed boot what they do now.

A running driver lowers generation and width of an idle link to save power, so the present link counts only while no installed
system has booted. Until then it is what the firmware trained: a GPU that trained lower than its neighbours has a bad slot,
retimer or module.
"""

from metalwright.gates.answers import Fault, listed, number, of_parts, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import boot, out_of_band
from metalwright.gates.inventory.gpus import MISSING, without
from metalwright.gates.inventory.host import PROFILE
from metalwright.gates.sights import INSTALLED_IF_ANY, bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import Gpu
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.observation import Witness

Speed = tuple[int | None, int | None]
"""PCIe generation and lanes; None where the BMC does not say."""


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """The best link of every GPU reaches the profile, and none trained lower than the others."""
    gpus, wanted = out_of_band(case).gpus, (case.profile.gpu_pcie_generation, case.profile.gpu_pcie_width)
    expected = f"every GPU can run PCIe {_words(wanted)}, and none trained lower than the others"
    if len(gpus) < case.profile.gpus:
        return undetermined(f"only {number(len(gpus), 'GPU')} of {case.profile.gpus} can be judged", MISSING, expected=expected)
    faults = [_fault(gpu, f"at most {_words(_best(gpu))}") for gpu in gpus if _is_lower(_best(gpu), wanted)]
    is_untouched = boot(case, Witness.RUNNING_SYSTEM) is None
    low = [gpu for gpu in gpus if is_untouched and not _is_lower(_best(gpu), wanted) and _is_lower(_now(gpu), wanted)]
    if 0 < len(low) < len(gpus):
        faults += [_fault(gpu, f"trained at {_words(_now(gpu))}") for gpu in low]
    unknown = [gpu.name for gpu in gpus if None in _best(gpu)]
    if unknown and not faults:
        reason = f"the BMC does not say the best link of {listed(unknown)}"
        return undetermined(reason, "judge it under load, or waive with a reason", expected=expected)
    if len(low) == len(gpus):
        reason = f"all GPUs trained alike and lower: {_words(_now(low[0]))}"
        do = "check the BIOS slot settings (a host that limits the link belongs in the profile), or judge it under load and waive"
        return undetermined(reason, do, expected=expected)
    do = "reseat the module; check retimers, riser and BIOS slot settings (a host that limits the link belongs in the profile)"
    ok = f"{number(len(gpus), 'GPU')} at {_words(wanted)} or better"
    return of_parts(faults, of=len(gpus), expected=expected, ok=ok, do=do)


def _best(gpu: Gpu) -> Speed:
    return (gpu.pcie.max_generation, gpu.pcie.max_width) if gpu.pcie else (None, None)


def _now(gpu: Gpu) -> Speed:
    return (gpu.pcie.generation, gpu.pcie.width) if gpu.pcie else (None, None)


def _is_lower(seen: Speed, wanted: tuple[int, int]) -> bool:
    return any(value is not None and value < least for value, least in zip(seen, wanted, strict=True))


def _fault(gpu: Gpu, seen: str) -> Fault:
    return Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=seen)


def _words(speed: Speed) -> str:
    return f"generation {speed[0] or '?'} x{speed[1] or '?'}"


CHECK = Check(
    id=CheckId("inventory.gpu-pcie"),
    gate=Gate.INVENTORY,
    version=2,
    title="GPU PCIe links run at full speed",
    rule="The best PCIe link of every GPU reaches the profile's; before the first installed boot none trained lower than the others.",
    source=f"{PROFILE}; Redfish Processor.SystemInterface.PCIe (MaxPCIeType, MaxLanes, PCIeType, LanesInUse)",
    sights=(bmc("gpus", "gpus/*/pcie"), INSTALLED_IF_ANY),
    judge=judge,
    profile=("gpu_pcie_generation", "gpu_pcie_width"),
    not_applicable=without("gpus", "GPUs"),
)
