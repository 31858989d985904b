"""amd-smi and rocm-smi: the same facts and checks as NVIDIA's; one fault of each kind, both shapes, and what is not said."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.codec.accelerators import accelerators
from metalwright.gates.readings.judge import ReadingsVerdict, judge_readings
from metalwright.gates.readings.platform import platform_of
from metalwright.model.gpu_state import GpuReport
from metalwright.model.judgement import Colour, Result
from metalwright.readers.detect import read_bytes

MI300X = accelerators()["mi300x-8"]
Entry = dict[str, Any]


def _unit(value: float, unit: str) -> Entry:
    return {"value": value, "unit": unit}


def _static(n: int) -> Entry:
    return {
        "gpu": n,
        "asic": {"market_name": "AMD Instinct MI300X", "device_id": "0x74a1", "asic_serial": f"0xABCDEF{n}", "oam_id": n},
        "bus": {"bdf": f"0000:{n}5:00.0", "max_pcie_width": 16, "max_pcie_speed": _unit(32, "GT/s"), "pcie_interface_version": "Gen 5"},
        "ifwi": {"name": "AMD MI300X_HW", "version": "022.040.003.042"},
        "limit": {"max_power": _unit(750, "W"), "socket_power": _unit(750, "W"), "slowdown_hotspot_temperature": _unit(100, "C")},
        "driver": {"name": "amdgpu", "version": "6.8.5"},
        "ras": {"eeprom_version": "0x30000", "ecc_block_state": {"UMC": "ENABLED", "SDMA": "ENABLED"}},
        "partition": {"compute_partition": "SPX", "memory_partition": "NPS1"},
        "vram": {"type": "HBM3", "size": _unit(196592, "MB")},
    }


def _metric(n: int) -> Entry:
    return {
        "gpu": n,
        "usage": {"gfx_activity": _unit(100, "%")},
        "power": {"socket_power": _unit(720, "W"), "throttle_status": "UNTHROTTLED"},
        "clock": {"gfx_0": {"clk": _unit(2080, "MHz"), "max_clk": _unit(2100, "MHz")}},
        "temperature": {"edge": "N/A", "hotspot": _unit(71, "C"), "mem": _unit(55, "C")},
        "pcie": {"width": 16, "speed": _unit(32, "GT/s"), "replay_count": 0},
        "ecc": {"total_correctable_count": 3, "total_uncorrectable_count": 0, "cache_uncorrectable_count": 0},
    }


def _pages(n: int) -> Entry:
    return {"gpu": n, "retired": "No bad pages found.", "pending": "No bad pages found.", "un_res": "No bad pages found."}


def _card(n: int) -> Entry:
    return {
        "Card Series": "AMD Instinct MI300X",
        "Unique ID": f"0x12ab{n}",
        "PCI Bus": f"0000:{n}5:00.0",
        "VRAM Total Memory (B)": "206141652992",
        "Max Graphics Package Power (W)": "750.0",
        "Temperature (Sensor junction) (C)": "41.0",
        "GPU use (%)": "0",
    }


MAKERS = {"static": _static, "metric": _metric, "pages": _pages}
SHAPES: dict[str, list[Entry]] = {name: [make(n) for n in range(8)] for name, make in MAKERS.items()}
ROCM: Entry = {f"card{n}": _card(n) for n in range(8)} | {"system": {"Driver version": "6.8.5"}}


def _judged(document: Any) -> ReadingsVerdict:
    return judge_readings(read_bytes(json.dumps(document).encode()), MI300X)


def _open(verdict: ReadingsVerdict) -> dict[str, Result]:
    return {finding.check: finding.result for finding in verdict.findings if finding.result not in (Result.PASS, Result.NOT_APPLICABLE)}


def _healthy(name: str) -> list[Entry]:
    return copy.deepcopy(SHAPES[name])


def test_a_healthy_node_is_green_in_every_output_and_shape() -> None:
    """A list, the newer `gpu_data`, words before the JSON, and rocm-smi's cards; the platform is found by the name."""
    for name in ("static", "metric"):
        assert _judged(_healthy(name)).colour is Colour.GREEN, (name, _open(_judged(_healthy(name))))
        assert _judged({"gpu_data": _healthy(name)}).colour is Colour.GREEN
    warned = b"WARNING: User is missing the following required groups: render\n" + json.dumps(_healthy("static")).encode()
    assert judge_readings(read_bytes(warned), MI300X).colour is Colour.GREEN
    assert platform_of(read_bytes(warned)) == MI300X
    assert _judged(ROCM).colour is Colour.GREEN, _open(_judged(ROCM))
    assert platform_of(read_bytes(json.dumps(ROCM).encode())) == MI300X


def test_facts_are_those_of_the_output() -> None:
    """Units, generations and names of both tools in the same nouns."""
    static, metric = (read_bytes(json.dumps(_healthy(name)).encode())[0].content for name in ("static", "metric"))
    assert isinstance(static, GpuReport)
    assert isinstance(metric, GpuReport)
    gpu, busy = static.gpus[3], metric.gpus[3]
    assert (gpu.model, gpu.address, gpu.memory_mib, gpu.power_limit, gpu.ecc) == (
        "AMD Instinct MI300X",
        "0000:35:00.0",
        196592,
        750.0,
        True,
    )
    assert (gpu.pcie_best_generation, gpu.pcie_best_width, gpu.vbios, static.driver) == (5, 16, "022.040.003.042", "6.8.5")
    assert (busy.pcie_generation, busy.pcie_width, busy.temperature, busy.sm_clock, busy.hw_slowdown) == (5, 16, 71, 2080, False)
    rocm = read_bytes(json.dumps(ROCM).encode())[0].content
    assert isinstance(rocm, GpuReport)
    assert (len(rocm.gpus), rocm.gpus[2].memory_mib, rocm.driver) == (8, 196592, "6.8.5")


def _put(*path: str, value: Any) -> Callable[[Entry], None]:
    def change(entry: Entry) -> None:
        at = entry
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = value

    return change


FAULTS = [
    ("static", "os.gpu-model", _put("asic", "market_name", value="AMD Instinct MI250X")),
    ("static", "os.gpu-uuid", _put("asic", "asic_serial", value="0xABCDEF0")),
    ("static", "os.gpu-memory", _put("vram", "size", value=_unit(98304, "MB"))),
    ("static", "os.gpu-vbios", _put("ifwi", "version", value="022.040.003.001")),
    ("static", "os.gpu-ecc", _put("ras", "ecc_block_state", "UMC", value="DISABLED")),
    ("static", "os.gpu-partition", _put("partition", "compute_partition", value="CPX")),
    ("static", "os.gpu-partition", _put("partition", "memory_partition", value="NPS4")),
    ("static", "os.gpu-power-limit", _put("limit", "socket_power", value=_unit(550, "W"))),
    ("metric", "os.gpu-pcie", _put("pcie", "width", value=8)),
    ("metric", "os.gpu-pcie", _put("pcie", "speed", value=_unit(16, "GT/s"))),
    ("metric", "os.gpu-throttle", _put("power", "throttle_status", value="THROTTLED")),
    ("metric", "os.gpu-errors", _put("ecc", "total_uncorrectable_count", value=2)),
    ("metric", "os.gpu-clocks", _put("clock", "gfx_0", "clk", value=_unit(900, "MHz"))),
]


@pytest.mark.parametrize(("name", "check", "change"), FAULTS)
def test_one_fault_turns_exactly_its_finding_red(name: str, check: str, change: Callable[[Entry], None]) -> None:
    """One value of GPU 5 is bad."""
    document = _healthy(name)
    change(document[5])
    verdict = _judged(document)
    assert _open(verdict) == {check: Result.FAIL}


@pytest.mark.parametrize("word", ["N/A", None, "Unknown Error", "", {"value": "N/A", "unit": "W"}])
@pytest.mark.parametrize(("name", "check", "change"), [row for row in FAULTS if row[1] != "os.gpu-vbios"])
def test_a_value_that_is_not_said_never_passes(name: str, check: str, change: Callable[[Entry], None], word: Any) -> None:
    """The value of one GPU in each of these places is no value: its check is undetermined."""
    document = _healthy(name)
    change(document[5])
    path = _where(_healthy(name)[5], document[5])
    _put(*path, value=word)(document[5])
    assert _open(_judged(document)).get(check) is Result.UNDETERMINED, (path, word)


def _where(before: Entry, after: Entry) -> tuple[str, ...]:
    """The path at which two entries differ."""
    for name, value in after.items():
        if before[name] != value:
            inner = _where(before[name], value) if isinstance(value, dict) and "value" not in value else ()
            return (name, *inner)
    return ()


def test_a_page_that_waits_and_a_gpu_too_few_are_red() -> None:
    """Bad pages as a list; seven of eight."""
    document = _healthy("pages")
    assert _open(_judged(document)).get("os.gpu-pages") is None
    document[2]["pending"] = [{"page_address": "0x1", "page_size": "0x1000"}]
    assert _open(_judged(document)) == {"os.gpu-pages": Result.FAIL}
    assert _open(_judged(_healthy("static")[:7])) == {"os.gpu-count": Result.FAIL}


def test_cut_and_foreign_documents_never_pass() -> None:
    """Cut at 40 places; a list of other things; an empty list."""
    text = json.dumps(_healthy("static"), indent=1)
    for end in range(0, len(text) - 2, len(text) // 40):
        assert judge_readings(read_bytes(text[:end].encode()), MI300X).colour is not Colour.GREEN
    for document in ([], [{"gpu": 0, "market_name": "x"}], {"gpu_data": []}, {"card0": 7, "vram": 1}):
        assert _judged(document).colour is not Colour.GREEN, document


@settings(max_examples=30, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(SHAPES)))
def test_damaged_documents_never_crash(data: st.DataObject, name: str) -> None:
    """Any JSON in the place of any value."""
    document = _healthy(name)
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
    anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
    entry = document[data.draw(st.integers(0, 7))]
    entry[data.draw(st.sampled_from(sorted(entry)))] = data.draw(anything)
    assert _judged(document).findings is not None
