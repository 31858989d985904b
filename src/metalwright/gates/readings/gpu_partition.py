"""os.gpu-partition: AMD GPUs are whole, as MIG is off on NVIDIA's."""

from metalwright.gates.answer import Answer
from metalwright.gates.readings.check import gpu_check, over_gpus
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport, GpuState


def judge(report: GpuReport, _: AcceleratorProfile) -> tuple[Answer, ...]:
    """One compute partition, one memory partition."""

    def fault(gpu: GpuState) -> str:
        wanted = {"compute": (gpu.compute_partition, "SPX"), "memory": (gpu.memory_partition, "NPS1")}
        return ", ".join(f"{what} partition {seen}" for what, (seen, good) in wanted.items() if seen is not None and seen.upper() != good)

    do = "drain the node, amd-smi set --compute-partition SPX and --memory-partition NPS1; where it was ordered, waive this check"
    facts = ("compute_partition", "memory_partition")
    return over_gpus(report, facts, fault, expected="compute partition SPX, memory partition NPS1", ok="SPX, NPS1", do=do)


CHECKS = (
    gpu_check(
        "gpu-partition",
        "AMD GPUs are whole",
        "Every GPU is in compute partition mode SPX and memory partition mode NPS1.",
        "AMD Instinct MI300X partition modes, ROCm documentation: the default for one job over the whole GPU",
        judge=judge,
        facts=("compute_partition", "memory_partition"),
    ),
)
