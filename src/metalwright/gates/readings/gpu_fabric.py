"""os.gpu-fabric: the NVSwitch fabric is up for every GPU, healthy, and all GPUs are in the same partition of it."""

from collections import Counter

from metalwright.gates.answer import Answer
from metalwright.gates.readings.check import gpu_check, over_gpus, unless
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport, GpuState


def judge(report: GpuReport, _: AcceleratorProfile) -> tuple[Answer, ...]:
    """State, status, health, and one clique and cluster."""
    homes = Counter((gpu.fabric_cluster, gpu.fabric_clique) for gpu in report.gpus if gpu.fabric_clique is not None)
    most = homes.most_common(1)[0][0] if homes else (None, None)

    def fault(gpu: GpuState) -> str:
        return next((words for words in _faults(gpu, most) if words), "")

    expected = "fabric state Completed, status Success, one clique for all GPUs"
    do = "check nvidia-fabricmanager (on NVL72 also nvidia-imex) and its version against the driver's, then its log"
    return over_gpus(report, ("fabric_state", "fabric_status"), fault, expected=expected, ok=f"Completed, clique {most[1]}", do=do)


def _faults(gpu: GpuState, most: tuple[str | None, str | None]) -> tuple[str, ...]:
    state, status, health = gpu.fabric_state, gpu.fabric_status, gpu.fabric_health
    wrong = gpu.fabric_misconfigured
    home = (gpu.fabric_cluster, gpu.fabric_clique)
    return (
        f"fabric state {state}" if state is not None and state.lower() != "completed" else "",
        f"fabric status {status}" if status is not None and status.lower() != "success" else "",
        f"fabric health {health}" if health is not None and health.lower() != "healthy" else "",
        f"fabric configuration: {wrong}" if wrong is not None and wrong.lower() not in ("none", "no", "false") else "",
        f"clique {home[1]} of cluster {home[0]}, most are in {most[1]} of {most[0]}" if home[1] is not None and home != most else "",
    )


CHECKS = (
    gpu_check(
        "gpu-fabric",
        "The NVLink fabric is up",
        "The fabric of every GPU is Completed with status Success, healthy where health is told, in one clique for all.",
        "NVML nvmlDeviceGetGpuFabricInfoV; NVIDIA Fabric Manager User Guide",
        judge=judge,
        facts=("fabric_state", "fabric_status"),
        profile=("reports",),
        not_applicable=unless("fabric", "there is no NVSwitch fabric to register with"),
    ),
)
