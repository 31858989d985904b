"""os.gpu-ecc, -errors, -rows, -sram, -repair, -pages, -recovery: memory errors, and what the driver itself asks for."""

from metalwright.gates.answer import Answer
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import gpu_check, over_gpus, unless
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport, GpuState

GUIDE = "NVIDIA GPU Memory Error Management"
RESET = "drain the node and reset the GPU (nvidia-smi --gpu-reset), or reboot; if it comes back, run the field diagnostic"
REPLACE = "drain the node, keep this output, and return the GPU (RMA)"


def judge_ecc(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """On, and staying on."""

    def fault(gpu: GpuState) -> str:
        if gpu.ecc is False:
            return "ECC is off"
        return "ECC goes off at the next reset" if gpu.ecc_pending is False else ""

    return over_gpus(report, ("ecc", "ecc_pending"), fault, expected="ECC on", ok="on", do="nvidia-smi -e 1, then reset the GPU")


def judge_errors(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """None since the driver was loaded."""

    def fault(gpu: GpuState) -> str:
        counts = {"DRAM": gpu.dram_uncorrectable, "SRAM": gpu.sram_uncorrectable}
        return ", ".join(f"{count} uncorrectable {kind} errors" for kind, count in counts.items() if count)

    facts = ("dram_uncorrectable", "sram_uncorrectable")
    return over_gpus(report, facts, fault, expected="no uncorrectable errors since the driver was loaded", ok="none", do=RESET)


def judge_sram(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """The driver's own verdict; without it the count of a lifetime."""
    most = limit("gpu.sram-uncorrectable").value
    has_verdict = "sram_threshold_exceeded" in report.offers

    def fault(gpu: GpuState) -> str:
        if gpu.sram_threshold_exceeded:
            return "the driver says that the SRAM error threshold is exceeded"
        count = gpu.sram_uncorrectable_ever or 0
        return f"{count} uncorrectable SRAM errors in its life" if count > most else ""

    facts = ("sram_threshold_exceeded",) if has_verdict else ("sram_uncorrectable_ever",)
    return over_gpus(report, facts, fault, expected=f"SRAM errors below the driver's threshold, at most {most}", ok="below", do=REPLACE)


def judge_rows(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No failure, nothing pending, few uncorrectable."""
    most = limit("gpu.rows-uncorrectable").value

    def fault(gpu: GpuState) -> str:
        if gpu.rows_failure:
            return "remapping a row failed: no spare rows are left"
        if (gpu.rows_uncorrectable or 0) > most:
            return f"{gpu.rows_uncorrectable} rows remapped for uncorrectable errors"
        return "a remapped row waits for a reset" if gpu.rows_pending else ""

    do = REPLACE if any(gpu.rows_failure or (gpu.rows_uncorrectable or 0) > most for gpu in report.gpus) else RESET
    expected = f"no failed and no pending row remap, at most {most} uncorrectable"
    return over_gpus(
        report, ("rows_failure", "rows_pending", "rows_uncorrectable"), fault, expected=expected, ok="none failed or pending", do=do
    )


def judge_repair(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No repair waits for a reset, nothing beyond repair."""

    def fault(gpu: GpuState) -> str:
        if gpu.unrepairable:
            return "memory that cannot be repaired"
        return "a channel or TPC repair waits for a reset" if gpu.repair_pending else ""

    do = REPLACE if any(gpu.unrepairable for gpu in report.gpus) else RESET
    return over_gpus(report, ("repair_pending",), fault, expected="no repair pending", ok="none", do=do)


def judge_pages(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """Models before row remapping, and AMD: no page waits to be taken out of use, and few were."""
    most = limit("gpu.bad-pages").value

    def fault(gpu: GpuState) -> str:
        if (gpu.pages_bad or 0) > most:
            return f"{gpu.pages_bad} pages retired"
        return "a page waits to be retired" if gpu.pages_pending else ""

    facts: tuple[str, ...] = ("pages_pending",) if "pages_pending" in report.offers else ("pages_bad",)
    remaps = all(gpu.rows_pending is not None for gpu in report.gpus)
    if remaps and all(gpu.pages_pending is None and gpu.pages_bad is None for gpu in report.gpus):
        facts = ()  # a GPU that remaps rows retires no pages: N/A is its healthy answer
    return over_gpus(report, facts, fault, expected=f"no page waits to be retired, at most {most} are", ok="none pending", do=RESET)


def judge_recovery(report: GpuReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """The driver asks for nothing."""

    def fault(gpu: GpuState) -> str:
        action = gpu.recovery_action
        if action is not None and action.lower() != "none":
            return f"the driver asks for: {action}"
        return "the driver says that a reset is required" if gpu.reset_required else ""

    facts = ("recovery_action",) if "recovery_action" in report.offers else ("reset_required",)
    do = "do what the driver asks for, after draining the node; it knows more than any table"
    return over_gpus(report, facts, fault, expected="recovery action None", ok="None", do=do)


CHECKS = (
    gpu_check(
        "gpu-recovery",
        "The driver asks for no recovery",
        "The recovery action of every GPU is None (drivers before 570: no reset is required).",
        "NVML nvmlDeviceGetGpuRecoveryAction, driver 570 and later; nvidia-smi(1)",
        judge=judge_recovery,
        facts=("recovery_action|reset_required",),
    ),
    gpu_check("gpu-ecc", "ECC is on", "ECC is on now and after the next reset.", GUIDE, judge=judge_ecc, facts=("ecc",)),
    gpu_check(
        "gpu-errors",
        "No uncorrectable memory errors",
        "No uncorrectable DRAM or SRAM error since the driver was loaded.",
        GUIDE,
        judge=judge_errors,
        facts=("dram_uncorrectable", "sram_uncorrectable"),
    ),
    gpu_check(
        "gpu-sram",
        "SRAM is healthy",
        "The driver's SRAM threshold is not exceeded; without that flag few uncorrectable SRAM errors in a lifetime.",
        f"{GUIDE}; threshold gpu.sram-uncorrectable",
        judge=judge_sram,
        facts=("sram_uncorrectable_ever",),
        thresholds=("gpu.sram-uncorrectable",),
    ),
    gpu_check(
        "gpu-rows",
        "Row remapping is in order",
        "No row remap failed, none waits for a reset, and few were for uncorrectable errors.",
        f"{GUIDE}; threshold gpu.rows-uncorrectable",
        judge=judge_rows,
        facts=("rows_failure", "rows_pending"),
        profile=("reports",),
        not_applicable=unless("rows", "this GPU does not remap rows"),
        thresholds=("gpu.rows-uncorrectable",),
    ),
    gpu_check(
        "gpu-repair",
        "No memory repair is pending",
        "No channel or TPC repair waits for a reset and no memory is beyond repair.",
        "nvidia-smi -q of drivers 580 and later: Channel Repair Pending, TPC Repair Pending, Unrepairable Memory",
        judge=judge_repair,
        facts=("repair_pending",),
    ),
    gpu_check(
        "gpu-pages",
        "No page retirement is pending",
        "No page waits to be retired and few were retired.",
        f"NVIDIA Dynamic Page Retirement; {GUIDE}; threshold gpu.bad-pages",
        judge=judge_pages,
        facts=("pages_pending|pages_bad",),
        thresholds=("gpu.bad-pages",),
    ),
)
