"""DCGM diagnostics, collectives, copies and NCCL topologies: real captures, one fault of each kind, cut and skipped runs."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.codec.accelerators import accelerators
from metalwright.gates.readings.judge import ReadingsVerdict, judge_readings
from metalwright.model.judgement import Colour, Result
from metalwright.model.reading import Unreadable
from metalwright.model.run_results import CollectiveRun, CopyRun, DiagReport, NcclTopology
from metalwright.readers.detect import read_bytes
from tests.kit.captures import capture

A100, H100 = accelerators()["hgx-a100-8-40gb"], accelerators()["hgx-h100-8"]


def _judged(text: str, profile: Any = H100) -> ReadingsVerdict:
    return judge_readings(read_bytes(text.encode()), profile)


def _open(verdict: ReadingsVerdict) -> dict[str, Result]:
    return {finding.check: finding.result for finding in verdict.findings if finding.result is not Result.PASS}


# -- recorded ------------------------------------------------------------------------------------------------------------------


def test_a_recorded_all_reduce_is_its_numbers() -> None:
    """34 sizes on 8 × A100 up to 8 GiB at 235 GB/s, not validated: green on its platform, red against an H100's floor."""
    text = capture("nccl/allreduce.log").decode()
    run = read_bytes(text.encode())[0].content
    assert isinstance(run, CollectiveRun)
    assert (run.operation, run.ranks, run.hosts, run.model, len(run.sizes)) == ("all_reduce", 8, 1, "A100-SXM4-40GB", 34)
    last = run.sizes[-1]
    assert (last.size, last.out_of_place, last.in_place, last.wrong) == (8589934592, 235.26, 235.03, None)
    assert run.out_of_bounds == 0
    assert _judged(text, A100).colour is Colour.GREEN
    assert _open(_judged(text, H100)) == {"acceptance.all-reduce": Result.FAIL}


def test_a_recorded_copy_run_is_its_matrices() -> None:
    """Every matrix adds up to its sum, or is a gap: this public log was edited, and one of its tests does not."""
    run = read_bytes(capture("nccl/nvbandwidth.log"))[0].content
    assert isinstance(run, CopyRun)
    assert run.models == ("NVIDIA GH200 480GB",)
    assert run.driver == "550.54.15"
    assert run.cells["host_to_device_memcpy_ce"] == (369.36, 269.33, 412.11, 323.36, 299.33, 312.11)
    assert run.cells["device_to_host_bidirectional_memcpy_ce"] == (187.26,)


def test_recorded_topologies_are_their_gpus_and_nics() -> None:
    """A bare-metal H100 with 18 NVLinks a GPU and two ports near each; an Azure node that tells no NVLinks."""
    metal, azure = (read_bytes(capture(f"nccl-topo/{name}.xml"))[0].content for name in ("h100", "ndv5"))
    assert isinstance(metal, NcclTopology)
    assert isinstance(azure, NcclTopology)
    assert {(gpu.generation, gpu.width, gpu.nvlinks, gpu.near_nics) for gpu in metal.gpus} == {(5, 16, 18, 2)}
    assert {(gpu.generation, gpu.width, gpu.nvlinks, gpu.near_nics) for gpu in azure.gpus} == {(5, 16, None, 1)}
    for name in ("h100", "ndv5"):
        assert _judged(capture(f"nccl-topo/{name}.xml").decode()).colour is Colour.GREEN


TOPOLOGY_FAULTS = [
    (r'<pci busid="0001:00:00.0".*?/>', "", "os.nccl-topology", "7 GPUs"),
    (r'(0001:00:00.0" class="0x030200" link_speed=")32.0', r"\g<1>16.0", "os.nccl-topology", "PCIe generation 4"),
    (r'(0001:00:00.0" class="0x030200" .*? link_width=")16', r"\g<1>8", "os.nccl-topology", "PCIe x8"),
    (r'<pci busid="0101:00:00.0".*?/>', "", "os.nccl-topology", "0 NICs near"),
]


@pytest.mark.parametrize(("pattern", "becomes", "check", "seen"), TOPOLOGY_FAULTS)
def test_one_fault_of_a_topology_is_red(pattern: str, becomes: str, check: str, seen: str) -> None:
    """A GPU, its speed, its width, its NIC."""
    text = capture("nccl-topo/ndv5.xml").decode()
    broken = re.sub(pattern, becomes, text, count=1)
    assert broken != text
    verdict = _judged(broken)
    assert _open(verdict) == {check: Result.FAIL}
    assert seen in verdict.findings[0].seen


# -- diagnostics ---------------------------------------------------------------------------------------------------------------


def _diag4(**changes: Any) -> dict[str, Any]:
    def test(name: str) -> dict[str, Any]:
        results = [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": n, "status": "Pass"} for n in range(8)]
        return {"name": name, "results": results, "test_summary": {"status": "Pass"}}

    tests = [test("software"), test("memory"), test("pcie")]
    whole = {
        "DCGM Diagnostic": {"test_categories": [{"category": "Deployment", "tests": tests}]},
        "entity_groups": [
            {"entity_group": "GPU", "entity_group_id": 1, "entities": [{"device_id": "2330", "entity_id": n} for n in range(8)]}
        ],
        "metadata": {"version": "4.2.3", "Driver Version Detected": "580.105.08"},
    }
    return whole | changes


def _diag3() -> dict[str, Any]:
    tests = [
        {"name": "Denylist", "results": [{"gpu_ids": "0,1,2,3,4,5,6,7", "status": "Pass"}]},
        {"name": "PCIe", "results": [{"gpu_id": str(n), "status": "Pass", "info": "", "warnings": None} for n in range(8)]},
    ]
    root = {"test_categories": [{"category": "Deployment", "tests": tests}], "version": "3.3.9", "GPU Device IDs": ["2330"] * 8}
    return {"DCGM GPU Diagnostic": root}


@pytest.mark.parametrize("whole", [_diag4(), _diag3()], ids=["dcgm4", "dcgm3"])
def test_both_shapes_of_a_passed_diagnostic_are_green(whole: dict[str, Any]) -> None:
    """With words before the JSON, and read to the same facts; cut anywhere it never is."""
    text = "Successfully ran diagnostic for group.\n" + json.dumps(whole, indent=1)
    report = read_bytes(text.encode())[0].content
    assert isinstance(report, DiagReport)
    assert report.gpus == 8
    assert {result.status for result in report.results} == {"Pass"}
    assert _judged(text).colour is Colour.GREEN
    for end in range(0, len(text) - 1, len(text) // 50):
        assert _judged(text[:end]).colour is not Colour.GREEN


def _result(whole: dict[str, Any], test: int, entity: int) -> dict[str, Any]:
    root = whole.get("DCGM Diagnostic") or whole["DCGM GPU Diagnostic"]
    found: dict[str, Any] = root["test_categories"][0]["tests"][test]["results"][entity]
    return found


@pytest.mark.parametrize(
    ("severity", "do"), [(1, "watch"), (2, "RMA"), (3, "read the warning"), (4, "field diag"), (5, "configuration"), (6, "reset the GPU")]
)
def test_a_failed_test_names_gpu_words_and_what_its_severity_means(severity: int, do: str) -> None:
    """One GPU fails one test: that GPU is red with the step that the severity calls for."""
    whole = _diag4()
    warning = {"error_category": 1, "error_id": 9, "error_severity": severity, "warning": "GPU 5 ran slow"}
    _result(whole, 1, 5).update(status="Fail", warnings=[warning])
    finding = _judged(json.dumps(whole)).findings[0]
    assert (finding.result, finding.check) == (Result.FAIL, "acceptance.diagnostics")
    assert finding.subject.endswith("/gpu:5")
    assert "memory Fail: GPU 5 ran slow" in finding.seen
    assert do in finding.do


def test_dcgm_3_fails_with_a_text_as_warning() -> None:
    """`warnings` was a plain text then."""
    whole = _diag3()
    _result(whole, 1, 3).update(status="Fail", warnings="PCIe replays above the limit")
    finding = _judged(json.dumps(whole)).findings[0]
    assert finding.result is Result.FAIL
    assert "PCIe replays above the limit" in finding.seen


@pytest.mark.parametrize("status", ["Skip", "Not Run", "", None, "Unknown", 7])
def test_what_did_not_run_never_passes(status: Any) -> None:
    """Skipped, not run, no status, an unknown word: undetermined."""
    whole = _diag4()
    _result(whole, 2, 0).update(status=status)
    assert _judged(json.dumps(whole)).colour is Colour.UNDETERMINED


def test_half_a_diagnostic_never_passes() -> None:
    """Fewer GPUs than the platform, a test without results, an error of the whole, no test at all."""
    empty = _diag4()
    empty["DCGM Diagnostic"]["test_categories"][0]["tests"][0].update(results=[], test_summary={})
    fewer = _diag4(entity_groups=[{"entity_group": "GPU", "entities": [{}] * 7}])
    error = {"DCGM Diagnostic": {"runtime_error": "Unable to reach the host engine"}}
    for whole in (empty, fewer, error, {"DCGM Diagnostic": {}}, {"DCGM Diagnostic": {"test_categories": None}}):
        assert _judged(json.dumps(whole)).colour is Colour.UNDETERMINED, whole


# -- collectives and copies ----------------------------------------------------------------------------------------------------


def _all_reduce(busbw: float = 478.2, wrong: str = "0", size: int = 8589934592, ranks: int = 8, host: str = "n1", prefix: str = "") -> str:
    lines = ["# nccl-tests version 2.17.6", "# Collective test starting: all_reduce_perf", "# Using devices"]
    lines += [f"#  Rank  {n} Group  0 Pid {100 + n} on {host} device  {n} [0000:{n}b:00] NVIDIA H100 80GB HBM3" for n in range(ranks)]
    lines += ["#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"]
    row = "{size}  {count}  float  sum  -1  31420  {alg:.2f}  {bus:.2f}  {wrong}  31400  {alg:.2f}  {bus:.2f}  0"
    for bytes_, speed in ((1048576, 40.0), (size, busbw)):
        lines.append("  " + row.format(size=bytes_, count=bytes_ // 4, alg=speed / 1.75, bus=speed, wrong=wrong))
    lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 250.1"]
    return "\n".join(prefix + line for line in lines) + "\n"


def test_a_newer_run_under_mpirun_is_green() -> None:
    """With a root column, #wrong, and every line prefixed by its rank."""
    assert _judged(_all_reduce()).colour is Colour.GREEN
    assert _judged(_all_reduce(prefix="[1,0]<stdout>:")).colour is Colour.GREEN


RUN_FAULTS = [
    (_all_reduce(busbw=369.0), {"acceptance.all-reduce": Result.FAIL}),
    (_all_reduce(busbw=0.0), {"acceptance.all-reduce": Result.FAIL}),
    (_all_reduce(wrong="3"), {"acceptance.collective-values": Result.FAIL}),
    (_all_reduce(size=1073741824), {"acceptance.all-reduce": Result.UNDETERMINED}),
    (_all_reduce(ranks=7), {"acceptance.all-reduce": Result.UNDETERMINED}),
    (_all_reduce().replace("  0  31400", "  N/A  31400", 1), {"acceptance.collective-values": Result.UNDETERMINED}),
    ("NCCL_ALGO=Tree\n" + _all_reduce(), {"acceptance.all-reduce": Result.UNDETERMINED}),
]


@pytest.mark.parametrize(("text", "open_checks"), RUN_FAULTS)
def test_one_fault_of_a_run_opens_exactly_its_check(text: str, open_checks: dict[str, Result]) -> None:
    """Slow, dead, wrong values; too small, too few ranks, not validated, an algorithm without a floor."""
    assert _open(_judged(text)) == open_checks


def test_a_forced_ring_has_its_own_floor() -> None:
    """369 GB/s is healthy for a ring and slow for NVLS."""
    assert _judged("NCCL_ALGO=Ring\n" + _all_reduce(busbw=369.0)).colour is Colour.GREEN


def test_a_run_that_broke_off_never_passes() -> None:
    """Cut anywhere before its last line."""
    text = _all_reduce()
    for end in range(0, text.index("# Avg"), 40):
        assert _judged(text[:end]).colour is not Colour.GREEN


def _copies(*rates: float) -> str:
    head = "nvbandwidth Version: v0.8\nDriver Version: 580.105.08\n\n"
    devices = "".join(f"Device {n}: NVIDIA H100 80GB HBM3 (00000000:{n}B:00.0)\n" for n in range(len(rates)))
    row = " 0  " + "  ".join(f"{rate:.2f}" for rate in rates)
    return (
        f"{head}{devices}\nRunning host_to_device_memcpy_ce.\nmemcpy CE\n   0  1\n{row}\n\nSUM host_to_device_memcpy_ce {sum(rates):.2f}\n"
    )


def test_copies_from_the_host_are_judged_by_the_slowest_gpu() -> None:
    """All at 52 GB/s pass; one at 26 is red and named; seven, an error, a matrix that does not add up are undetermined."""
    assert _judged(_copies(*[52.1] * 8)).colour is Colour.GREEN
    slow = _judged(_copies(*[52.1] * 5, 26.0, 52.1, 52.1))
    assert _open(slow) == {"acceptance.host-to-device": Result.FAIL}
    assert "GPU 5 26.0 GB/s" in slow.findings[0].seen
    for text in (
        _copies(*[52.1] * 8).replace("Running", "Ran"),
        _copies(*[52.1] * 7),
        "[ERROR] CUDA failure\n" + _copies(*[52.1] * 8),
        _copies(*[52.1] * 8).replace("SUM host", "SUM hos"),
    ):
        assert _judged(text).colour is Colour.UNDETERMINED


TEXTS = (json.dumps(_diag4()), json.dumps(_diag3()), _all_reduce(), _copies(*[52.1] * 8))


@settings(max_examples=40, deadline=None)
@given(data=st.data(), text=st.sampled_from(TEXTS))
def test_damaged_results_never_crash(data: st.DataObject, text: str) -> None:
    """Bytes overwritten anywhere: facts or a reason."""
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    readings = read_bytes(bytes(raw))
    assert all(reading.content.reason for reading in readings if isinstance(reading.content, Unreadable))
    assert judge_readings(readings, H100).colour in set(Colour)


@pytest.mark.parametrize("raw", ["[" * 100_000, '{"DCGM Diagnostic":' * 5000, '{"DCGM Diagnostic": {"version": ' + "9" * 5000 + "}}"])
def test_hostile_json_is_refused(raw: str) -> None:
    """Depth and digits beyond reason give a reason, not a crash."""
    assert _judged(raw).colour is not Colour.GREEN
