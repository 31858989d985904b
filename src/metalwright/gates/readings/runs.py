"""acceptance.diagnostics, -all-reduce, -collective-values, -host-to-device, os.nccl-topology: results of tests, judged by our numbers."""

from metalwright.gates.answer import Answer
from metalwright.gates.answers import Fault, failed, listed, number, of_parts, passed, undetermined
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import PLATFORM, ReadingCheck
from metalwright.model.accelerator import AcceleratorProfile, Bandwidth
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.run_results import CollectiveRun, CopyRun, DiagReport, DiagResult, NcclTopology, TopologyGpu

SEVERITY_DO = {
    1: "watch it; run the diagnostic again",
    2: "take the GPU out of service and return it (RMA)",
    4: "run the field diagnostic of the vendor",
    5: "mend the configuration that the warning names",
    6: "drain the node and reset the GPU",
}
"""DCGM's error severities; 0 is none and 3 unknown."""
HOST_TO_DEVICE = "host_to_device_memcpy_ce"


def judge_diagnostics(report: DiagReport, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """Every test passed on every GPU of the platform; what was skipped is not known."""
    expected = f"every test passes on {number(profile.gpus, 'GPU')}"
    if report.error:
        return undetermined(f"the diagnostic could not run: {report.error}", "mend what it names and run it again", expected=expected)
    bad = [result for result in report.results if result.status.lower() in ("fail", "failed", "warn", "warning") or _is_grave(result)]
    if bad:
        named = [result for result in bad if result.entity] or bad
        faults = [Fault(part=_part(result), name=result.entity or "node", seen=_told(result)) for result in named]
        severities = [warning.severity for result in bad for warning in result.warnings if warning.severity in SEVERITY_DO]
        do = SEVERITY_DO[max(severities)] if severities else "read the warning; run the failed test alone: dcgmi diag -r NAME"
        return of_parts(faults, of=max(report.gpus, 1), expected=expected, ok="", do=do)
    open_tests = dict.fromkeys(
        f"{result.test}: {result.status or 'no status'}" for result in report.results if result.status.lower() != "pass"
    )
    if open_tests or not report.results:
        return undetermined(f"not every test was run: {listed(open_tests)}", "run what was skipped", expected=expected)
    if report.gpus != profile.gpus:
        return undetermined(f"the diagnostic names {number(report.gpus, 'GPU')}", "run it on all GPUs", expected=expected)
    return passed(expected, f"{len({result.test for result in report.results})} tests by DCGM {report.version or '?'}")


def _is_grave(result: DiagResult) -> bool:
    return any(warning.severity in (2, 4, 6) for warning in result.warnings)


def _part(result: DiagResult) -> str:
    group, _, index = result.entity.partition(" ")
    return f"{group.lower()}:{index}" if index else ""


def _told(result: DiagResult) -> str:
    return f"{result.test} {result.status}: {listed((warning.text for warning in result.warnings), 2) or 'no words'}"


def judge_all_reduce(run: CollectiveRun, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """At a large message the lower of both bus bandwidths reaches the platform's floor for that algorithm."""
    floor = _floor(profile, "all_reduce", run.algorithm)
    if floor is None:
        return undetermined(f"{profile.name} has no floor for all_reduce by {run.algorithm}", "add one with its source")
    least = limit("collective.size").value
    expected = f"{floor.gbytes_per_s:.0f} GB/s of bus bandwidth at {least // 2**30} GiB and more ({floor.source})"
    if run.ranks != profile.gpus or run.hosts > 1:
        seen = f"{run.ranks} ranks on {number(run.hosts, 'host')}"
        return undetermined(
            f"the floor is for {profile.gpus} ranks on one host, this is {seen}", "run it on the whole node", expected=expected
        )
    large = [size for size in run.sizes if size.size >= least]
    if not large:
        return undetermined(
            f"the largest message is {max(size.size for size in run.sizes)} bytes", "run it up to 8 GiB: -e 8G", expected=expected
        )
    reached = max(min(size.out_of_place, size.in_place) for size in large)
    seen = f"{reached:.2f} GB/s"
    if reached >= floor.gbytes_per_s:
        return passed(expected, seen)
    return failed(expected, seen, "compare nvidia-smi nvlink -s, topo -m and the clocks of all GPUs; check NVLS in NCCL_DEBUG=INFO")


def _floor(profile: AcceleratorProfile, test: str, algorithm: str) -> Bandwidth | None:
    fits = [each for each in profile.bandwidths if each.test == test and each.algorithm == algorithm]
    return fits[0] if fits else None


def judge_values(run: CollectiveRun, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No value came back wrong."""
    expected = "no wrong value in any message"
    wrong = [f"{size.wrong} at {size.size} bytes" for size in run.sizes if size.wrong]
    if wrong or run.out_of_bounds:
        seen = listed(wrong) or f"{run.out_of_bounds} out of bounds"
        return failed(expected, seen, "stop using the node: data is corrupted silently; find the GPU with pairs of ranks, then return it")
    unchecked = sum(size.wrong is None for size in run.sizes)
    if unchecked:
        return undetermined(f"{unchecked} of {len(run.sizes)} messages were not validated", "run it with -c 1", expected=expected)
    return passed(expected, f"{len(run.sizes)} messages validated")


def judge_host_to_device(run: CopyRun, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """The slowest GPU reaches the floor."""
    floor = _floor(profile, "host_to_device", "any")
    if floor is None:
        return undetermined(f"{profile.name} has no floor for copies from the host", "add one with its source")
    cells = run.cells[HOST_TO_DEVICE]
    expected = f"{floor.gbytes_per_s:.0f} GB/s from host to each of {number(profile.gpus, 'GPU')} ({floor.source})"
    slow = [f"GPU {place} {rate:.1f} GB/s" for place, rate in enumerate(cells) if rate < floor.gbytes_per_s]
    if slow:
        return failed(expected, listed(slow), "compare PCIe generation and width under load, NUMA binding and IOMMU settings")
    if run.errors:
        return undetermined(f"nvbandwidth says: {run.errors[0]}", "mend it and run it again", expected=expected)
    if len(cells) != profile.gpus:
        return undetermined(f"{number(len(cells), 'GPU')} measured", "run it on all GPUs", expected=expected)
    return passed(expected, f"slowest {min(cells):.1f} GB/s")


def judge_topology(topology: NcclTopology, profile: AcceleratorProfile) -> tuple[Answer, ...]:
    """GPUs, their PCIe links, NVLinks and NICs near by, as NCCL will see them."""
    wanted = (profile.pcie_generation, profile.pcie_width)
    expected = f"{number(profile.gpus, 'GPU')} at PCIe generation {wanted[0]} x{wanted[1]}, alike in NVLinks and NICs near by"
    if len(topology.gpus) != profile.gpus:
        return failed(expected, f"{number(len(topology.gpus), 'GPU')}", "dump it again with NCCL_TOPO_DUMP_FILE; look for a lost GPU")
    faults = [
        Fault(part=f"gpu:{place}", name=gpu.address, seen=words) for place, gpu in enumerate(topology.gpus) if (words := _odd(gpu, profile))
    ]
    most_near = max(gpu.near_nics for gpu in topology.gpus)
    faults += [
        Fault(part=f"gpu:{place}", name=gpu.address, seen=f"{number(gpu.near_nics, 'NIC')} near, others have {most_near}")
        for place, gpu in enumerate(topology.gpus)
        if gpu.near_nics < most_near
    ]
    unread = [gpu.address for gpu in topology.gpus if gpu.generation is None or gpu.width is None]
    if unread and not faults:
        return undetermined(f"no PCIe link is told for {listed(unread)}", "dump it from the running node", expected=expected)
    do = "a topology file that is wrong slows every job: dump it anew from a healthy node of this kind, or mend the link"
    return of_parts(faults, of=profile.gpus, expected=expected, ok=f"{number(topology.nics, 'NIC port')} in all", do=do)


def _odd(gpu: TopologyGpu, profile: AcceleratorProfile) -> str:
    if gpu.nvlinks is not None and profile.nvlinks and gpu.nvlinks != profile.nvlinks:
        return f"{gpu.nvlinks} of {profile.nvlinks} NVLinks"
    if gpu.generation is not None and gpu.generation < profile.pcie_generation:
        return f"PCIe generation {gpu.generation}"
    return f"PCIe x{gpu.width}" if gpu.width is not None and gpu.width < profile.pcie_width else ""


CHECKS = (
    ReadingCheck(
        id=CheckId("acceptance.diagnostics"),
        gate=Gate.ACCEPTANCE,
        version=1,
        title="DCGM's diagnostics pass",
        rule="Every test passed on every GPU of the platform, with no warning to isolate, triage or reset; a skipped test is undetermined.",
        source="NVIDIA DCGM User Guide: diagnostics; dcgm_errors.h severities",
        reads=DiagReport,
        judge=judge_diagnostics,
        facts=("tests",),
        profile=("gpus",),
    ),
    ReadingCheck(
        id=CheckId("acceptance.all-reduce"),
        gate=Gate.ACCEPTANCE,
        version=1,
        title="All-reduce is fast enough",
        rule="On one whole node, at 8 GiB and more, the lower of in-place and out-of-place bus bandwidth reaches the platform's floor.",
        source=f"{PLATFORM} (bandwidths); NVIDIA nccl-tests PERFORMANCE.md; threshold collective.size",
        reads=CollectiveRun,
        judge=judge_all_reduce,
        facts=("bandwidth",),
        profile=("bandwidths", "gpus"),
        thresholds=("collective.size",),
        missing=lambda run: "" if run.operation == "all_reduce" else "needs an all_reduce run",
    ),
    ReadingCheck(
        id=CheckId("acceptance.collective-values"),
        gate=Gate.ACCEPTANCE,
        version=1,
        title="Collectives compute right",
        rule="No message of the run came back with a wrong value.",
        source="NVIDIA nccl-tests: data validation (-c 1)",
        reads=CollectiveRun,
        judge=judge_values,
        missing=lambda run: "" if "wrong" in run.offers or run.out_of_bounds else "needs validation: -c 1",
    ),
    ReadingCheck(
        id=CheckId("acceptance.host-to-device"),
        gate=Gate.ACCEPTANCE,
        version=1,
        title="Copies from the host are fast enough",
        rule="The copy engine brings the platform's floor from the host to every GPU.",
        source=f"{PLATFORM} (bandwidths); NVIDIA nvbandwidth",
        reads=CopyRun,
        judge=judge_host_to_device,
        facts=(HOST_TO_DEVICE,),
        profile=("bandwidths", "gpus"),
    ),
    ReadingCheck(
        id=CheckId("os.nccl-topology"),
        gate=Gate.OS,
        version=1,
        title="NCCL sees the platform",
        rule="The topology holds the platform's GPUs at its PCIe speed, with its NVLinks, and as many NICs near each GPU as the others.",
        source=f"{PLATFORM}; NCCL_TOPO_FILE, NVIDIA NCCL User Guide",
        reads=NcclTopology,
        judge=judge_topology,
        facts=("gpus",),
        profile=("gpus", "pcie_generation", "pcie_width", "nvlinks"),
    ),
)
