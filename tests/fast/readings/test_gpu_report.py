"""nvidia-smi in all its forms becomes the same facts; broken, cut, reordered and hostile output never passes and never crashes."""

from dataclasses import replace
from pathlib import PurePath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.codec.accelerators import accelerators, of_model
from metalwright.gates.readings.judge import judge_readings
from metalwright.gates.readings.platform import platform_of
from metalwright.model.gpu_state import GpuReport
from metalwright.model.judgement import Colour, Result
from metalwright.model.reading import Unreadable
from metalwright.readers.detect import read_bytes
from tests.kit.captures import capture
from tests.kit.nvidia_smi import GPU, document, node

H100 = accelerators()["hgx-h100-8"]
SMALL = replace(H100, gpus=3)
"""Three GPUs show every fault that eight do, in a third of the time."""
NOT_SAID = ("N/A", "[N/A]", "[Unknown Error]", "Unknown Error", "[Not Supported]", "GPU is lost", "", "ERR!", "Insufficient Permissions")

REAL = {
    "qx-a100.xml": ("570.148.08", 1, "NVIDIA A100-SXM4-40GB", 40960, 400.0, (4, 16), {0}),
    "qx-b200.xml": ("580.105.08", 8, "NVIDIA B200", 183359, 1000.0, (5, 16), {0}),
    "qx-h100.xml": ("580.105.08", 8, "NVIDIA H100 80GB HBM3", 81559, 700.0, (5, 16), {0}),
    "qx-h100x8-host-gen4.xml": ("570.86.15", 8, "NVIDIA H100 80GB HBM3", 81559, 700.0, (4, 16), {0}),
    "qx-l40s.xml": ("595.91.07", 1, "NVIDIA L40S", 46068, 350.0, (4, 8), {0}),
    "telegraf-a100-sxm4-v12.xml": ("535.54.03", 1, "NVIDIA A100-SXM4-80GB", 81920, 500.0, (4, 16), {None}),
    "telegraf-rtx-3090-v12.xml": ("525.147.05", 1, "NVIDIA GeForce RTX 3090", 24576, 200.0, (1, 16), {None}),
    "telegraf-tesla-t4.xml": ("515.105.01", 1, "Tesla T4", 15360, 70.0, (3, 8), {None}),
}


def _report(raw: bytes) -> GpuReport:
    content = read_bytes(raw)[0].content
    assert isinstance(content, GpuReport), content
    return content


@pytest.mark.parametrize("name", REAL)
def test_every_recorded_xml_becomes_its_facts(name: str) -> None:
    """Drivers 515 to 595, three DTDs: driver, count, model, memory, power limit, PCIe now, uncorrectable row remaps."""
    report = _report(capture(f"nvidia-smi/{name}"))
    driver, count, model, memory, power, pcie, rows = REAL[name]
    assert (report.driver, len(report.gpus)) == (driver, count)
    assert {gpu.model for gpu in report.gpus} == {model}
    assert {gpu.memory_mib for gpu in report.gpus} == {memory}
    assert {gpu.power_limit for gpu in report.gpus} == {power}
    assert {(gpu.pcie_generation, gpu.pcie_width) for gpu in report.gpus} == {pcie}
    assert {gpu.rows_uncorrectable for gpu in report.gpus} == rows
    assert all(gpu.temperature and gpu.vbios and gpu.address for gpu in report.gpus)


def test_recorded_machines_are_judged_as_what_they_are() -> None:
    """A whole H100 node passes but for a masked UUID; a Gen4 host is red as the full platform and not as its own."""
    verdict = judge_readings(read_bytes(capture("nvidia-smi/qx-h100.xml")), H100)
    assert {finding.check for finding in verdict.findings if finding.result is not Result.PASS} == {"os.gpu-uuid"}
    gen4 = read_bytes(capture("nvidia-smi/qx-h100x8-host-gen4.xml"))
    red = {name: _red(judge_readings(gen4, accelerators()[name])) for name in ("hgx-h100-8", "hgx-h100-8-gen4-host")}
    assert red == {"hgx-h100-8": {"os.gpu-pcie", "os.gpu-persistence"}, "hgx-h100-8-gen4-host": {"os.gpu-persistence"}}


def test_a_plain_node_is_green() -> None:
    """The healthy document that the matrix breaks passes every check over GPUs."""
    verdict = judge_readings(read_bytes(document(node())), H100)
    assert verdict.colour is Colour.GREEN
    assert len(verdict.findings) >= 20


FAULTS = [
    ("os.gpu-persistence", "persistence_mode", "Disabled"),
    ("os.gpu-mig", "mig_mode/current_mig", "Enabled"),
    ("os.gpu-mig", "mig_mode/pending_mig", "Enabled"),
    ("os.gpu-uuid", "uuid", "GPU-1f0e0c3d-aaaa-bbbb-cccc-000000000000"),
    ("os.gpu-model", "product_name", "NVIDIA H200"),
    ("os.gpu-vbios", "vbios_version", "96.00.61.00.01"),
    ("os.gpu-memory", "fb_memory_usage/total", "65247 MiB"),
    ("os.gpu-recovery", "gpu_recovery_action", "Reset"),
    ("os.gpu-recovery", "gpu_recovery_action", "Drain and Reset"),
    ("os.gpu-pcie", "pci/pci_gpu_link_info/pcie_gen/current_link_gen", "3"),
    ("os.gpu-pcie", "pci/pci_gpu_link_info/link_widths/current_link_width", "8x"),
    ("os.gpu-pcie", "pci/pci_gpu_link_info/pcie_gen/max_link_gen", "4"),
    ("os.gpu-throttle", "clocks_event_reasons/clocks_event_reason_hw_slowdown", "Active"),
    ("os.gpu-throttle", "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown", "Active"),
    ("os.gpu-throttle", "clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown", "Active"),
    ("os.gpu-throttle", "clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown", "Active"),
    ("os.gpu-ecc", "ecc_mode/current_ecc", "Disabled"),
    ("os.gpu-ecc", "ecc_mode/pending_ecc", "Disabled"),
    ("os.gpu-errors", "ecc_errors/volatile/dram_uncorrectable", "1"),
    ("os.gpu-errors", "ecc_errors/volatile/sram_uncorrectable_secded", "2"),
    ("os.gpu-sram", "ecc_errors/aggregate/sram_threshold_exceeded", "Yes"),
    ("os.gpu-sram", "ecc_errors/aggregate/sram_uncorrectable_parity", "5"),
    ("os.gpu-repair", "ecc_errors/channel_repair_pending", "Yes"),
    ("os.gpu-repair", "ecc_errors/tpc_repair_pending", "Yes"),
    ("os.gpu-repair", "ecc_errors/unrepairable_memory", "Yes"),
    ("os.gpu-pages", "retired_pages/pending_retirement", "Yes"),
    ("os.gpu-rows", "remapped_rows/remapped_row_pending", "Yes"),
    ("os.gpu-rows", "remapped_rows/remapped_row_failure", "Yes"),
    ("os.gpu-rows", "remapped_rows/remapped_row_unc", "513"),
    ("os.gpu-temperature", "temperature/gpu_temp_tlimit", "0 C"),
    ("os.gpu-power-limit", "gpu_power_readings/current_power_limit", "500.00 W"),
    ("os.gpu-clocks", "clocks/sm_clock", "1200 MHz"),
    ("os.gpu-fabric", "fabric/state", "In Progress"),
    ("os.gpu-fabric", "fabric/status", "Insufficient Resources"),
    ("os.gpu-fabric", "fabric/cliqueId", "3"),
    ("os.gpu-fabric", "fabric/health/summary", "Unhealthy"),
    ("os.gpu-fabric", "fabric/health/incorrect_configuration", "Incorrect SYSGUID"),
]


def _red(verdict: object) -> set[str]:
    return {finding.check for finding in verdict.findings if finding.result is Result.FAIL}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("check", "path", "value"), FAULTS)
def test_one_fault_turns_exactly_its_finding_red(check: str, path: str, value: str) -> None:
    """One value of GPU 1 is bad: its check names that GPU, every other finding stays as it was."""
    gpus = node(3)
    gpus[1][path] = value
    verdict = judge_readings(read_bytes(document(gpus), "smi.xml"), SMALL)
    assert verdict.colour is Colour.RED
    assert {finding.check for finding in verdict.findings if finding.result is not Result.PASS} == {check}
    broken = next(finding for finding in verdict.findings if finding.check == check)
    assert check == "os.gpu-uuid" or broken.subject == "smi.xml/gpu:1"
    assert broken.expected
    assert broken.do


DECIDED_BY_OTHERS = frozenset(
    (
        "ecc_errors/unrepairable_memory",
        "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
        "ecc_errors/aggregate/sram_uncorrectable_parity",
        "retired_pages/pending_retirement",
        "fabric/cliqueId",
        "fabric/health/summary",
        "fabric/health/incorrect_configuration",
    )
)
"""Healthy GPUs say N/A here, or another value decides: the link that runs, the driver's own flag, the state of the fabric."""


@pytest.mark.parametrize("value", NOT_SAID)
@pytest.mark.parametrize(("check", "path"), [(check, path) for check, path, _ in FAULTS if path not in DECIDED_BY_OTHERS])
def test_a_value_that_is_not_said_never_passes(check: str, path: str, value: str) -> None:
    """What the tool does not say of one GPU keeps its check open; nothing else turns red by it, but for a lost GPU."""
    gpus = node(3)
    gpus[2][path] = value
    verdict = judge_readings(read_bytes(document(gpus)), SMALL)
    states = {finding.check: finding.result for finding in verdict.findings}
    assert states[check] is Result.UNDETERMINED
    assert _red(verdict) == ({"os.gpu-reach"} if value == "GPU is lost" else set())
    assert verdict.colour is not Colour.GREEN


@pytest.mark.parametrize(
    "path", [path for path in GPU if path.startswith(("ecc_mode/current", "remapped_rows/remapped_row_f", "gpu_recov"))]
)
def test_a_value_that_vanished_from_every_gpu_is_missed(path: str) -> None:
    """A driver that renames an element makes its check undetermined: a full output should hold it."""
    gpus = [{each: text for each, text in gpu.items() if each != path} for gpu in node()]
    verdict = judge_readings(read_bytes(document(gpus)), H100)
    assert verdict.colour is Colour.UNDETERMINED
    old = judge_readings(read_bytes(document(gpus, driver="470.256.02")), H100)
    assert (old.colour is Colour.GREEN) is (path == "gpu_recovery_action"), "drivers before 570 say no recovery action"


def test_a_lost_gpu_is_red_however_the_tool_says_it() -> None:
    """In a line before the document, as a value, or instead of any output."""
    line = b"Unable to determine the device handle for GPU 0000:9B:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
    seven = document(node(7), attached=8)
    for raw in (line + seven, line, seven.replace(b"NVIDIA H100 80GB HBM3", b"GPU is lost", 1)):
        assert "os.gpu-reach" in _red(judge_readings(read_bytes(raw), H100)), raw[:100]
    failed = b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it is installed.\n"
    for raw in (failed, b"No devices were found\n", b"Failed to initialize NVML: Driver/library version mismatch\n"):
        assert judge_readings(read_bytes(raw), H100).colour is Colour.RED


def test_a_missing_gpu_is_red() -> None:
    """Seven of eight, and the driver counts seven."""
    assert _red(judge_readings(read_bytes(document(node(7))), H100)) == {"os.gpu-count"}


def test_order_and_case_of_the_document_do_not_matter() -> None:
    """GPUs and elements in any order give the same findings."""
    backwards = [dict(reversed(gpu.items())) for gpu in reversed(node())]
    verdict = judge_readings(read_bytes(document(backwards)), H100)
    assert verdict.colour is Colour.GREEN


def test_a_cut_document_never_passes() -> None:
    """Cut at any of 60 places: what is whole is read, nothing passes."""
    whole = document(node(3))
    for end in range(0, len(whole) - 20, len(whole) // 60):
        verdict = judge_readings(read_bytes(whole[:end]), SMALL)
        assert verdict.colour is not Colour.GREEN
        assert all(finding.result is not Result.PASS for finding in verdict.findings), end


def test_hostile_xml_is_refused() -> None:
    """Entities, endless depth, other encodings: no entity is expanded, nothing crashes."""
    bomb = b'<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log><gpu>&b;</gpu></nvidia_smi_log>'
    deep = b"<nvidia_smi_log>" + b"<gpu>" * 5000
    for raw in (bomb, deep, b"<nvidia_smi_log", b"<nvidia_smi_log>\xff\xfe\x00</nvidia_smi_log>", b"\xff\xfe<\x00n\x00"):
        assert judge_readings(read_bytes(raw), H100).colour is not Colour.GREEN


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_output_never_crashes_and_never_gains_a_pass(data: st.DataObject) -> None:
    """Bytes overwritten, cut out or doubled in a document with a fault: never green."""
    gpus = node(3)
    gpus[2]["remapped_rows/remapped_row_failure"] = "Yes"
    raw = bytearray(document(gpus))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        length = data.draw(st.integers(0, 40))
        raw[at : at + length] = data.draw(st.binary(max_size=40))
    verdict = judge_readings(read_bytes(bytes(raw)), SMALL)
    assert b"remapped_row_failure>Yes<" not in raw or verdict.colour is not Colour.GREEN


@settings(max_examples=100, deadline=None)
@given(raw=st.one_of(st.binary(max_size=400), st.text(max_size=400).map(str.encode)))
def test_anything_is_read_without_a_crash(raw: bytes) -> None:
    """Any bytes: facts or a reason, and no pass."""
    readings = read_bytes(raw)
    assert all(reading.content.reason for reading in readings if isinstance(reading.content, Unreadable))
    assert judge_readings(readings, H100).colour is not Colour.GREEN


def test_platforms_are_found_by_the_name_of_the_gpu() -> None:
    """The platform that a model is built for, not one that limits it; by count where there are two; unknown models have none."""
    assert platform_of(read_bytes(document(node()))) == H100
    assert of_model("NVIDIA L40S", 8) == accelerators()["l40s-8"]
    assert of_model("NVIDIA H100 NVL", 2) == accelerators()["h100-nvl-12-links"]
    assert of_model("NVIDIA GeForce RTX 3090", 1) is None
    assert {PurePath(name).name for name in accelerators()} >= {"hgx-a100-8", "hgx-h200-8", "gb300-nvl72-tray", "mi300x-8"}
