"""NVML, read through its C interface from a stand-in library: every refusal is told, none is an exception, none is a pass."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from metalwright.agent.nvml import collect
from metalwright.agent.nvml_abi import FabricV2, FieldValue, MemoryV2
from metalwright.codec.accelerators import accelerators
from metalwright.gates.readings.judge import ReadingsVerdict, judge_readings
from metalwright.model.gpu_state import GpuReport
from metalwright.model.judgement import Colour, Result
from metalwright.readers.detect import read_bytes
from tests.kit.nvidia_smi import document, node

SOURCE = Path(__file__).parents[2] / "kit" / "fake_nvml.c"
H100 = accelerators()["hgx-h100-8"]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The stand-in as of today, and as of a driver before 535."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is here to build the stand-in of libnvidia-ml.so (apt install gcc)")
    folder = tmp_path_factory.mktemp("nvml")
    built = {"today": folder / "today.so", "ancient": folder / "ancient.so"}
    for name, path in built.items():
        flags = ["-DANCIENT"] if name == "ancient" else []
        subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", *flags, "-o", str(path), str(SOURCE)], check=True)
    return {name: str(path) for name, path in built.items()}


def _read(library: str, told: str, monkeypatch: pytest.MonkeyPatch) -> tuple[GpuReport, ReadingsVerdict]:
    monkeypatch.setenv("FAKE_NVML", told)
    readings = read_bytes(json.dumps(collect(library)).encode())
    report = readings[0].content
    assert isinstance(report, GpuReport)
    return report, judge_readings(readings, H100)


def _open(verdict: ReadingsVerdict) -> dict[str, Result]:
    return {finding.check: finding.result for finding in verdict.findings if finding.result is not Result.PASS}


def test_healthy_gpus_are_green_and_say_what_nvidia_smi_says(libraries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts are equal to those of nvidia-smi of the same node, where both say them."""
    report, verdict = _read(libraries["today"], "", monkeypatch)
    assert verdict.colour is Colour.GREEN, _open(verdict)
    printed = read_bytes(document(node()))[0].content
    assert isinstance(printed, GpuReport)
    facts = ("model", "serial", "vbios", "address", "memory_mib", "persistence", "mig", "ecc", "pcie_generation", "pcie_width", "is_idle")
    more = ("power_limit", "temperature", "margin", "sm_clock", "dram_uncorrectable", "rows_pending", "fabric_state", "recovery_action")
    for one, other in zip(report.gpus, printed.gpus, strict=True):
        assert [getattr(one, fact) for fact in facts + more] == [getattr(other, fact) for fact in facts + more]
    assert (report.driver, report.api, report.attached) == ("580.105.08", "13.0", 8)
    assert (report.gpus[0].rows_correctable, report.gpus[0].rows_uncorrectable) == (2, 1)


@pytest.mark.parametrize("told", ["lose=2", "handle=3"])
def test_a_lost_gpu_is_red_and_hides_no_other(told: str, libraries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost at its handle or at every question: that GPU is named, the other seven keep their facts."""
    report, verdict = _read(libraries["today"], told, monkeypatch)
    lost = [gpu.index for gpu in report.gpus if gpu.is_lost]
    assert lost == [int(told[-1])]
    assert sum(gpu.model is not None for gpu in report.gpus) == 7
    results = _open(verdict)
    assert results.pop("os.gpu-reach") is Result.FAIL
    assert set(results.values()) == {Result.UNDETERMINED}


REFUSED = {
    "nvmlDeviceGetName": "os.gpu-model",
    "nvmlDeviceGetUUID": "os.gpu-uuid",
    "nvmlDeviceGetVbiosVersion": "os.gpu-vbios",
    "nvmlDeviceGetMemoryInfo_v2": "os.gpu-memory",
    "nvmlDeviceGetPersistenceMode": "os.gpu-persistence",
    "nvmlDeviceGetMigMode": "os.gpu-mig",
    "nvmlDeviceGetEccMode": "os.gpu-ecc",
    "nvmlDeviceGetCurrPcieLinkGeneration": "os.gpu-pcie",
    "nvmlDeviceGetEnforcedPowerLimit": "os.gpu-power-limit",
    "nvmlDeviceGetMemoryErrorCounter": "os.gpu-errors",
    "nvmlDeviceGetRemappedRows": "os.gpu-rows",
    "nvmlDeviceGetCurrentClocksEventReasons": "os.gpu-throttle",
    "nvmlDeviceGetGpuFabricInfoV": "os.gpu-fabric",
    "nvmlDeviceGetFieldValues": "os.gpu-recovery",
}


@pytest.mark.parametrize("code", [3, 4, 16, 999])
@pytest.mark.parametrize("function", REFUSED)
def test_a_refused_question_is_undetermined(function: str, code: int, libraries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not supported, no permission, reset required, unknown: for one GPU, its check is open and no other turns red."""
    _, verdict = _read(libraries["today"], f"refuse={function}:{code}", monkeypatch)
    results = _open(verdict)
    assert results.get(REFUSED[function]) is Result.UNDETERMINED
    assert set(results.values()) == {Result.UNDETERMINED}


def test_older_structures_and_libraries_are_read(libraries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A version mismatch falls back to the older structure; a library without newer functions lacks only what they say."""
    old, verdict = _read(libraries["today"], "old", monkeypatch)
    assert verdict.colour is Colour.GREEN
    assert (old.gpus[0].memory_mib, old.gpus[0].fabric_state) == (81559, "Completed")
    ancient, verdict = _read(libraries["ancient"], "", monkeypatch)
    assert verdict.colour is Colour.GREEN, _open(verdict)
    assert "recovery_action" not in ancient.offers
    assert (ancient.gpus[0].margin, ancient.gpus[0].fabric_state, ancient.gpus[0].hw_slowdown) == (None, "Completed", False)


@pytest.mark.parametrize(("number", "words"), [(1, "GPU Reset"), (2, "Node Reboot"), (4, "Drain and Reset"), (42, "action 42")])
def test_the_recovery_action_is_said_in_words(number: int, words: str, libraries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that this version does not know."""
    report, verdict = _read(libraries["today"], f"action={number}", monkeypatch)
    assert report.gpus[5].recovery_action == words
    assert _open(verdict) == {"os.gpu-recovery": Result.FAIL}


def test_without_driver_or_gpus_nothing_passes(libraries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No library, no start, fewer GPUs, none at all."""
    for library, told in (("/nowhere/libnvidia-ml.so", ""), (libraries["today"], "init=9"), (libraries["today"], "count=0")):
        _, verdict = _read(library, told, monkeypatch)
        assert verdict.colour is not Colour.GREEN
    _, verdict = _read(libraries["today"], "count=7", monkeypatch)
    assert _open(verdict) == {"os.gpu-count": Result.FAIL}


def test_structures_have_the_sizes_of_the_interface() -> None:
    """The version words of nvml.h hold these sizes: 0x02000028, 0x02000024; a field value is 40 bytes."""
    import ctypes

    assert [ctypes.sizeof(each) for each in (MemoryV2, FabricV2, FieldValue)] == [0x28, 0x24, 40]


@pytest.mark.parametrize(
    "broken", ['{"nvml": {"format": 2, "devices": []}}', '{"nvml": {"format": 1, "devices": [7, null]}}', '{"nvml": "devices"']
)
def test_a_broken_document_never_passes(broken: str) -> None:
    """Another format, devices that are none, a cut text."""
    assert judge_readings(read_bytes(broken.encode()), H100).colour is not Colour.GREEN
