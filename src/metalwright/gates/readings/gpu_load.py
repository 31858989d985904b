"""os.gpu-pcie, -throttle, -temperature, -clocks: what only shows its truth while the GPU works, and says so when it does not."""

from statistics import median

from metalwright.gates.answer import Answer
from metalwright.gates.answers import Fault, listed, number, of_parts, passed, undetermined
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import PLATFORM, gpu_check, over_gpus
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport, GpuState

UNDER_LOAD = "capture it again while all GPUs work"


def is_busy(gpu: GpuState) -> bool | None:
    """Working: not idle by the driver's word, or used by more than the threshold; None when the output does not tell."""
    if gpu.utilisation is not None and gpu.utilisation >= limit("gpu.busy").value:
        return True
    if gpu.is_idle is not None:
        return not gpu.is_idle
    return False if gpu.utilisation is not None else None


def judge_pcie(report: GpuReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """What runs now, if it reaches the platform's; lower counts as a fault only under load, and what can never be reached always."""
    wanted = (profile.pcie_generation, profile.pcie_width)
    expected = f"PCIe generation {wanted[0]} x{wanted[1]} under load"
    faults, idle, unread = [], [], []
    for gpu in report.gpus:
        now, best = (gpu.pcie_generation, gpu.pcie_width), (gpu.pcie_best_generation, gpu.pcie_best_width)
        if _is_lower(best, wanted):
            faults.append(Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=f"at best {_words(best)}"))
        elif _is_lower(now, wanted) and is_busy(gpu):
            faults.append(Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=f"{_words(now)} while it works"))
        elif _is_lower(now, wanted):
            idle.append(f"{gpu.name} runs {_words(now)}")
        elif None in now:
            unread.append(f"{gpu.name}: {gpu.why_unread('pcie_generation' if now[0] is None else 'pcie_width')}")
    if faults:
        do = "reseat the module; check retimers, riser and BIOS slot settings (a host that limits the link is a profile of its own)"
        return of_parts(faults, of=len(report.gpus), expected=expected, ok="", do=do)
    if unread or not report.gpus:
        return undetermined(listed(unread) or "the output describes no GPU", UNDER_LOAD, expected=expected)
    if idle:
        return undetermined(f"lower while nothing runs, which may be power saving: {listed(idle)}", UNDER_LOAD, expected=expected)
    return passed(expected, f"{number(len(report.gpus), 'GPU')} at {_words(wanted)}")


def judge_throttle(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No hardware slowdown and no heat; the power cap is a normal reason."""
    reasons = {
        "hw_thermal": "slowed down by the hardware for its temperature",
        "hw_power_brake": "slowed down by the power brake of the chassis",
        "sw_thermal": "slowed down by the driver for its temperature",
        "hw_slowdown": "slowed down by the hardware",
    }

    def fault(gpu: GpuState) -> str:
        return next((words for fact, words in reasons.items() if getattr(gpu, fact)), "")

    do = "check fans, inlet temperature, coolant flow and the power supplies of the chassis"
    facts = tuple(fact for fact in reasons if fact in report.offers)
    return over_gpus(report, facts, fault, expected="no thermal or hardware slowdown", ok="none", do=do)


def judge_temperature(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """Away from slowing down: by the margin where the model has one, else by the absolute threshold."""
    least = limit("gpu.thermal-margin").value
    expected = f"more than {least} °C below slowdown"

    def left(gpu: GpuState) -> int | None:
        if gpu.margin is not None:
            return gpu.margin
        if gpu.temperature is not None and gpu.slowdown_temperature is not None:
            return gpu.slowdown_temperature - gpu.temperature
        return None

    def fault(gpu: GpuState) -> str:
        degrees = left(gpu)
        return f"{degrees} °C left" if degrees is not None and degrees <= least else ""

    unread = [gpu.name for gpu in report.gpus if left(gpu) is None]
    do = "check fans, inlet temperature, coolant flow, and the thermal paste of this module"
    answers = over_gpus(
        report, (), fault, expected=expected, ok=f"at least {min((left(gpu) or 0 for gpu in report.gpus), default=0)} °C left", do=do
    )
    if unread and all(answer.result == "pass" for answer in answers):
        return undetermined(f"neither margin nor threshold of {listed(unread)} is said", "capture the whole output", expected=expected)
    return answers


def judge_clocks(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """Under load on every GPU: none far below the median."""
    expected = f"SM clocks of working GPUs within {100 - limit('gpu.straggler-clock').value} % of the median"
    clocks = [gpu.sm_clock for gpu in report.gpus if gpu.sm_clock is not None]
    middle = median(clocks) if clocks else 0

    def fault(gpu: GpuState) -> str:
        is_slow = gpu.sm_clock is not None and gpu.sm_clock * 100 < middle * limit("gpu.straggler-clock").value
        return f"{gpu.sm_clock} MHz, the median is {middle:.0f}" if is_slow else ""

    do = "compare temperature, power limit and throttle reasons of this GPU with its peers"
    return over_gpus(report, ("sm_clock",), fault, expected=expected, ok=f"median {middle:.0f} MHz", do=do)


def _lacks_work(report: GpuReport) -> str:
    return "" if report.gpus and all(is_busy(gpu) for gpu in report.gpus) else "needs a capture in which every GPU works"


def _is_lower(seen: tuple[int | None, int | None], wanted: tuple[int, int]) -> bool:
    return any(value is not None and value < least for value, least in zip(seen, wanted, strict=True))


def _words(speed: tuple[int | None, int | None]) -> str:
    return f"generation {speed[0] or '?'} x{speed[1] or '?'}"


CHECKS = (
    gpu_check(
        "gpu-pcie",
        "PCIe runs at the platform's speed",
        "Generation and width reach the platform's; lower is a fault under load, and undetermined at idle.",
        f"{PLATFORM}; threshold gpu.busy",
        judge=judge_pcie,
        facts=("pcie_generation", "pcie_width"),
        profile=("pcie_generation", "pcie_width"),
        thresholds=("gpu.busy",),
    ),
    gpu_check(
        "gpu-throttle",
        "No GPU is slowed down",
        "No hardware slowdown, power brake or thermal slowdown is active.",
        "NVML nvmlDeviceGetCurrentClocksEventReasons",
        judge=judge_throttle,
        facts=("hw_slowdown",),
    ),
    gpu_check(
        "gpu-temperature",
        "GPUs are cool enough",
        "The margin to slowdown (T.Limit, or the absolute threshold of older models) is more than the threshold.",
        "NVML nvmlDeviceGetMarginTemperature; nvidia-smi(1); threshold gpu.thermal-margin",
        judge=judge_temperature,
        facts=("margin|temperature", "margin|slowdown_temperature"),
        thresholds=("gpu.thermal-margin",),
    ),
    gpu_check(
        "gpu-clocks",
        "No straggler among the clocks",
        "While all GPUs work, none runs far below the median SM clock of its peers.",
        "threshold gpu.straggler-clock",
        judge=judge_clocks,
        facts=("sm_clock",),
        thresholds=("gpu.straggler-clock", "gpu.busy"),
        missing=_lacks_work,
    ),
)
