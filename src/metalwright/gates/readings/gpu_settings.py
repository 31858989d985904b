"""os.gpu-persistence, -mig, -power-limit: how the GPUs are set up."""

from metalwright.gates.answer import Answer
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import PLATFORM, gpu_check, over_gpus, unless
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport, GpuState


def judge_persistence(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """On."""

    def fault(gpu: GpuState) -> str:
        return "persistence mode is off" if gpu.persistence is False else ""

    do = "run nvidia-persistenced at boot (nvidia-smi -pm 1 until the next one)"
    return over_gpus(report, ("persistence",), fault, expected="persistence mode on", ok="on", do=do)


def judge_mig(report: GpuReport, _: AcceleratorProfile) -> tuple[Answer, ...]:
    """Off: a whole-node platform is not partitioned unless its owner says so, and then this check is waived."""

    def fault(gpu: GpuState) -> str:
        if gpu.mig:
            return "MIG is on"
        return "MIG goes on at the next reset" if gpu.mig_pending else ""

    do = "drain the node, nvidia-smi -mig 0; where MIG was ordered, waive this check"
    return over_gpus(report, ("mig", "mig_pending"), fault, expected="MIG off", ok="off", do=do)


def judge_power_limit(report: GpuReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """The limit that applies reaches the platform's."""
    slack = limit("gpu.power-limit-slack").value

    def fault(gpu: GpuState) -> str:
        is_low = gpu.power_limit is not None and gpu.power_limit < profile.power_watts - slack
        return f"limited to {gpu.power_limit:.0f} W" if is_low else ""

    expected = f"a power limit of {profile.power_watts} W or more"
    do = f"nvidia-smi -pl {profile.power_watts}, and find what lowered it; a wanted cap is waived"
    return over_gpus(report, ("power_limit",), fault, expected=expected, ok=f"{profile.power_watts} W or more", do=do)


CHECKS = (
    gpu_check(
        "gpu-persistence",
        "Persistence mode is on",
        "Persistence mode is on, so that the driver keeps the GPUs initialised between jobs.",
        "NVIDIA Driver Persistence documentation",
        judge=judge_persistence,
        facts=("persistence",),
    ),
    gpu_check(
        "gpu-mig",
        "MIG is as ordered",
        "MIG is off, now and after the next reset.",
        "NVIDIA Multi-Instance GPU User Guide",
        judge=judge_mig,
        facts=("mig",),
        profile=("reports",),
        not_applicable=unless("mig", "this GPU has no MIG"),
    ),
    gpu_check(
        "gpu-power-limit",
        "Power limits are the platform's",
        "The power limit that applies to every GPU reaches the platform's.",
        f"{PLATFORM}; threshold gpu.power-limit-slack",
        judge=judge_power_limit,
        facts=("power_limit",),
        profile=("power_watts",),
        thresholds=("gpu.power-limit-slack",),
    ),
)
