"""os.nvlink-speed, -errors, -topology, os.nic-affinity: NVLinks and paths of a node against its platform."""

from metalwright.gates.answer import Answer
from metalwright.gates.answers import Fault, failed, listed, not_applicable, number, of_parts, passed, undetermined
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import PLATFORM, ReadingCheck
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.link_reports import LinkedGpu, NvLinkReport, TopologyMatrix

COUNTED = (
    "replay",
    "recovery errors",
    "recovery failed",
    "crc",
    "malformed",
    "overrun",
    "integrity",
    "discard",
    "rx errors",
    "remote errors",
)
"""Counters of damage, of NVLink 4 and 5; packets, corrected symbols and successful recoveries are none."""
NEAR = ("PIX", "PXB")
"""At most PCIe switches between a GPU and its NIC: GPUDirect traffic does not pass the CPU."""


def judge_speed(report: NvLinkReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """All links of every GPU are up at the platform's speed."""
    floor = profile.nvlink_gbps * (1000 - limit("nvlink.speed-tolerance").value) / 1000
    expected = f"{profile.nvlinks} NVLinks at {profile.nvlink_gbps / 8:.3f} GB/s on each of {number(profile.gpus, 'GPU')}"
    faults = [
        Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=words) for gpu in report.gpus if (words := _slow(gpu, profile.nvlinks, floor))
    ]
    do = "reset all GPUs of the baseboard; look for XID 74 and 144 to 150 and SXids; then reseat or replace the module"
    if faults:
        return of_parts(faults, of=len(report.gpus), expected=expected, ok="", do=do)
    if len(report.gpus) != profile.gpus:
        return failed(expected, f"{number(len(report.gpus), 'GPU')} in the output", "look for a lost GPU: XID 79 in the kernel log")
    return passed(expected, f"{sum(len(gpu.links) for gpu in report.gpus)} links up")


def _slow(gpu: LinkedGpu, wanted: int, floor: float) -> str:
    up = [link for link in gpu.links if link.state == "up"]
    slow = [link for link in up if link.gbps is not None and link.gbps < floor]
    down = [f"link {link.port}" for link in gpu.links if link.state != "up"]
    if len(up) != wanted:
        return f"{len(up)} of {wanted} links up" + (f", not {listed(down, 6)}" if down else "")
    return listed((f"link {link.port} at {(link.gbps or 0) / 8:.3f} GB/s" for link in slow), 6) if slow else ""


def judge_errors(report: NvLinkReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """No damage was counted since the driver was loaded."""
    most = limit("nvlink.errors").value
    faults = []
    for gpu in report.gpus:
        bad = [
            f"link {link}: {count} {counter}"
            for (link, counter), count in gpu.counters.items()
            if count > most and any(word in counter.lower() for word in COUNTED)
        ]
        faults += [Fault(part=f"gpu:{gpu.index}", name=gpu.name, seen=listed(bad))] if bad else []
    expected = f"at most {most} errors on every NVLink"
    counted = sum(any(word in counter.lower() for word in COUNTED) for gpu in report.gpus for _, counter in gpu.counters)
    short = _uncounted(report, profile)
    if not faults and short:
        return undetermined(short, "nvidia-smi nvlink -e, whole", expected=expected)
    if not faults and not counted:
        return undetermined("none of the counters is known to mean damage", "read DCGM fields 1200 to 1211", expected=expected)
    do = "clear the counters (nvidia-smi nvlink -re), run a load; if they rise again, reseat or replace the module"
    return of_parts(faults, of=len(report.gpus), expected=expected, ok=f"{counted} counters", do=do)


def _uncounted(report: NvLinkReport, profile: AcceleratorProfile) -> str:
    """Links without all counters that the others have: the output was cut."""
    names = {counter for gpu in report.gpus for _, counter in gpu.counters}
    whole = sum(all((port, name) in gpu.counters for name in names) for gpu in report.gpus for port in range(profile.nvlinks))
    wanted = profile.gpus * profile.nvlinks
    return f"{whole} of {wanted} links show every counter" if whole < wanted else ""


def judge_topology(matrix: TopologyMatrix, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """Every pair of GPUs is joined by all NVLinks."""
    wanted = f"NV{profile.nvlinks}"
    expected = f"{wanted} between every pair of {number(profile.gpus, 'GPU')}"
    if len(matrix.gpus) != profile.gpus:
        return failed(expected, f"{number(len(matrix.gpus), 'GPU')} in the matrix", "look for a lost GPU: XID 79 in the kernel log")
    pairs = [(one, other) for one in matrix.gpus for other in matrix.gpus if one != other]
    unread = [f"{one} to {other}" for one, other in pairs if (one, other) not in matrix.paths]
    wrong = {(one, other): path for (one, other) in pairs if (path := matrix.paths.get((one, other))) not in (None, wanted)}
    if wrong:
        counts = {gpu: sum(gpu == one for one, _ in wrong) for gpu in matrix.gpus}
        worst = max(counts, key=lambda gpu: counts[gpu])
        alone = worst if all(worst in pair for pair in wrong) and profile.gpus > 2 else ""
        seen = listed(f"{one} to {other}: {path}" for (one, other), path in wrong.items())
        do = "nvidia-smi nvlink -s shows which links are down; check nvidia-fabricmanager"
        return failed(expected, seen, do, part=alone.lower().replace("gpu", "gpu:"))
    if unread:
        return undetermined(f"no path is told for {listed(unread)}", "capture the whole matrix", expected=expected)
    return passed(expected, f"{number(len(pairs) // 2, 'pair')} at {wanted}")


def judge_affinity(matrix: TopologyMatrix, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """Each GPU has a NIC near by, as many as the others, and a NUMA node."""
    if not matrix.nics:
        return not_applicable("the matrix shows no NIC")
    near = {gpu: [nic for nic in matrix.nics if matrix.paths.get((gpu, nic)) in NEAR] for gpu in matrix.gpus}
    most = max((len(nics) for nics in near.values()), default=0)
    expected = "the same number of NICs behind the PCIe switch of every GPU, at least one"
    faults = [
        Fault(part=gpu.lower().replace("gpu", "gpu:"), name=gpu, seen=f"{number(len(nics), 'NIC')} near, others have {most}")
        for gpu, nics in near.items()
        if len(nics) < max(most, 1)
    ]
    do = "check that all NICs are there (lspci), in the slots of the platform's plan, and that their drivers are loaded"
    return of_parts(faults, of=len(matrix.gpus), expected=expected, ok=f"{number(most, 'NIC')} near every GPU", do=do)


def _without_nvlink(profile: AcceleratorProfile) -> str:
    return "" if profile.nvlinks else f"{profile.name} has no NVLinks"


def _pcie_switched(profile: AcceleratorProfile) -> str:
    return "" if "near_nics" in profile.reports else f"{profile.name}: GPUs and NICs need not share a PCIe switch"


CHECKS = (
    ReadingCheck(
        id=CheckId("os.nvlink-speed"),
        gate=Gate.OS,
        version=1,
        title="All NVLinks run at full speed",
        rule="Every GPU shows the platform's number of NVLinks, each up at the platform's speed.",
        source=f"{PLATFORM}; nvidia-smi nvlink --status; threshold nvlink.speed-tolerance",
        reads=NvLinkReport,
        judge=judge_speed,
        facts=("speed",),
        profile=("nvlinks", "nvlink_gbps", "gpus"),
        not_applicable=_without_nvlink,
        thresholds=("nvlink.speed-tolerance",),
    ),
    ReadingCheck(
        id=CheckId("os.nvlink-errors"),
        gate=Gate.OS,
        version=1,
        title="NVLinks count no errors",
        rule="No counter of damage (replay, recovery, CRC, malformed, overrun, integrity, discards) is above the threshold.",
        source="nvidia-smi nvlink --errorcounters; threshold nvlink.errors",
        reads=NvLinkReport,
        judge=judge_errors,
        facts=("counters",),
        profile=("nvlinks", "gpus"),
        not_applicable=_without_nvlink,
        thresholds=("nvlink.errors",),
    ),
    ReadingCheck(
        id=CheckId("os.nvlink-topology"),
        gate=Gate.OS,
        version=1,
        title="Every pair of GPUs is joined by NVLink",
        rule="The topology matrix shows all of the platform's NVLinks between every pair of its GPUs.",
        source=f"{PLATFORM}; nvidia-smi topo -m",
        reads=TopologyMatrix,
        judge=judge_topology,
        facts=("paths",),
        profile=("nvlinks", "gpus"),
        not_applicable=_without_nvlink,
    ),
    ReadingCheck(
        id=CheckId("os.nic-affinity"),
        gate=Gate.OS,
        version=1,
        title="Every GPU has its NIC near by",
        rule="As many NICs are behind the PCIe switch of each GPU (PIX or PXB) as of the others, at least one.",
        source="NVIDIA GPUDirect RDMA design; nvidia-smi topo -m",
        reads=TopologyMatrix,
        judge=judge_affinity,
        facts=("nics",),
        profile=("reports",),
        not_applicable=_pcie_switched,
    ),
)
