"""os.gpu-count, -reach, -model, -uuid, -vbios, -memory: the GPUs that the driver shows are those of the platform, each of them once."""

from collections import Counter
from collections.abc import Callable

from metalwright.gates.answer import Answer
from metalwright.gates.answers import Fault, failed, listed, number, of_parts, passed, undetermined
from metalwright.gates.limits import at_least_percent, limit
from metalwright.gates.readings.check import PLATFORM, gpu_check, over_gpus
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport, GpuState

MISSING = "look for XID 79 in the kernel log, power the node fully off and on; if the GPU stays away, reseat or replace its module"


def judge_count(report: GpuReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """Exactly the platform's GPUs."""
    expected, seen = number(profile.gpus, "GPU"), len(report.gpus)
    if seen == profile.gpus:
        return passed(expected, f"{seen} described")
    if report.attached == profile.gpus and not report.lost:
        reason = f"the driver counts {report.attached} and the output describes {seen}"
        return undetermined(reason, "capture it whole", expected=expected)
    counted = f"; the driver counts {report.attached}" if report.attached is not None else ""
    return failed(expected, f"{number(seen, 'GPU')}{counted}", MISSING)


def judge_reach(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No GPU is lost, and the tool could speak to the driver."""
    expected = "the driver reaches every GPU"
    lost = [*report.lost, *(f"{gpu.name} is lost" for gpu in report.gpus if gpu.is_lost)]
    if lost:
        return failed(expected, listed(lost), MISSING)
    if not report.gpus:
        return undetermined("the output describes no GPU", "run the tool again", expected=expected)
    return passed(expected, f"{number(len(report.gpus), 'GPU')} answered")


def judge_model(report: GpuReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """One of the names that the platform's GPU has."""
    expected = f"every GPU is {' or '.join(profile.models)}"

    def fault(gpu: GpuState) -> str:
        return f"model {gpu.model}" if gpu.model is not None and gpu.model not in profile.models else ""

    return over_gpus(report, ("model",), fault, expected=expected, ok=profile.models[0], do="name the right --profile, or replace the GPU")


def judge_uuid(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """Each GPU has a UUID and an address that no other has."""
    faults = []
    for what in ("uuid", "address"):
        counts = Counter(getattr(gpu, what) for gpu in report.gpus)
        faults += [
            Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=f"{what} {value} is shown by {counts[value]} GPUs")
            for gpu in report.gpus
            if (value := getattr(gpu, what)) is not None and counts[value] > 1
        ]
    expected = "a UUID and a PCI address for every GPU that no other has"
    if faults:
        do = "capture it again; if it stays, the boards' inforoms are damaged: replace them"
        return of_parts(faults, of=len(report.gpus), expected=expected, ok="", do=do)
    return over_gpus(report, ("uuid",), lambda _: "", expected=expected, ok=f"{len(report.gpus)} different UUIDs", do="")


def judge_memory(report: GpuReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """The total reaches the platform's."""
    floor = profile.memory_mib * limit("gpu.memory-floor").value // 100

    def fault(gpu: GpuState) -> str:
        is_short = gpu.memory_mib is not None and not at_least_percent(gpu.memory_mib, profile.memory_mib, "gpu.memory-floor")
        return f"{gpu.memory_mib} MiB" if is_short else ""

    do = "a part of the memory is gone: reset the GPU, then run the field diagnostic; with another model name the right --profile"
    return over_gpus(report, ("memory_mib",), fault, expected=f"at least {floor} MiB on every GPU", ok=f"at least {floor} MiB", do=do)


def uniform(fact: str, noun: str, do: str) -> Callable[[GpuReport, AcceleratorProfile | None], tuple[Answer, ...]]:
    """A check that all GPUs of a node say the same; the ones that differ from the most are named."""

    def judge(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
        values = Counter(value for gpu in report.gpus if (value := getattr(gpu, fact)) is not None)
        most = values.most_common(1)[0][0] if values else None

        def fault(gpu: GpuState) -> str:
            value = getattr(gpu, fact)
            return f"{noun} {value}" if value is not None and value != most else ""

        expected = f"one {noun} on all GPUs" + (f", {most} as on most" if len(values) > 1 else "")
        return over_gpus(report, (fact,), fault, expected=expected, ok=f"{noun} {most}", do=do)

    return judge


CHECKS = (
    gpu_check(
        "gpu-reach",
        "The driver reaches every GPU",
        "The tool could speak to the driver, and no GPU is lost.",
        "nvidia-smi(1): return codes and messages; NVML error NVML_ERROR_GPU_IS_LOST",
        judge=judge_reach,
    ),
    gpu_check(
        "gpu-count",
        "The driver shows all GPUs",
        "The output describes exactly the platform's number of GPUs.",
        PLATFORM,
        judge=judge_count,
        profile=("gpus",),
    ),
    gpu_check(
        "gpu-model",
        "The driver shows the right GPUs",
        "The product name of every GPU is one of the platform's.",
        PLATFORM,
        judge=judge_model,
        facts=("model",),
        profile=("models",),
    ),
    gpu_check(
        "gpu-uuid",
        "Every GPU is itself",
        "Every GPU has a UUID and a PCI address that no other GPU of the node has.",
        "NVML nvmlDeviceGetUUID: globally unique and immutable",
        judge=judge_uuid,
        facts=("uuid",),
    ),
    gpu_check(
        "gpu-memory",
        "GPU memory is whole",
        "The total memory of every GPU reaches the platform's.",
        f"{PLATFORM}; threshold gpu.memory-floor",
        judge=judge_memory,
        facts=("memory_mib",),
        profile=("memory_mib",),
        thresholds=("gpu.memory-floor",),
    ),
    gpu_check(
        "gpu-vbios",
        "One vBIOS on all GPUs",
        "All GPUs of the node run the same vBIOS.",
        "NVIDIA data centre driver documentation: the GPUs of a baseboard are updated as one bundle",
        judge=uniform("vbios", "vBIOS", "update the GPU baseboard's firmware as one bundle"),
        facts=("vbios",),
    ),
)
