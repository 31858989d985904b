"""nvlink -s and -e, topo -m, the plain table and whole pasted sessions: real captures, one fault of each kind, and cut texts."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.codec.accelerators import accelerators
from metalwright.gates.readings.judge import ReadingsVerdict, judge_readings
from metalwright.model.gpu_state import GpuReport
from metalwright.model.judgement import Colour, Result
from metalwright.model.link_reports import NvLinkReport, TopologyMatrix
from metalwright.model.reading import Skipped, Unreadable
from metalwright.readers.detect import read_bytes
from tests.kit.captures import capture

H100 = accelerators()["hgx-h100-8"]


def _gpu_head(n: int) -> str:
    return f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: GPU-0000000{n}-aaaa-bbbb-cccc-dddddddddddd)\n"


STATUS = "".join(_gpu_head(n) + "".join(f"\t Link {link}: 26.562 GB/s\n" for link in range(18)) for n in range(8))
COUNTERS = ("Replay Errors", "Recovery Errors", "CRC Errors")
ERRORS = "".join(_gpu_head(n) + "".join(f"\t Link {k}: {name}: 0\n" for k in range(18) for name in COUNTERS) for n in range(8))


def _matrix() -> str:
    devices = [f"GPU{n}" for n in range(8)] + [f"NIC{n}" for n in range(8)]
    header = "\t" + "\t".join(devices) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
    rows = [header]
    for one in devices:
        cells = [_path(one, other) for other in devices]
        rows.append("\t".join((one, *cells, *(("0-55", "0", "N/A") if one.startswith("GPU") else ()))))
    return "\n".join((*rows, "", "Legend:", "  X    = Self", "", "NIC Legend:", "", *(f"  NIC{n}: mlx5_{n}" for n in range(8)), ""))


def _path(one: str, other: str) -> str:
    if one == other:
        return " X "
    if one[:3] == other[:3] == "GPU":
        return "NV18"
    return "PXB" if one[3:] == other[3:] else "SYS"


def _judged(text: str) -> ReadingsVerdict:
    return judge_readings(read_bytes(text.encode()), H100)


def _open(verdict: ReadingsVerdict) -> dict[str, Result]:
    return {finding.check: finding.result for finding in verdict.findings if finding.result is not Result.PASS}


def test_a_recorded_link_status_is_eight_gpus_of_twelve_links() -> None:
    """An A100 baseboard: 96 links at 25 GB/s, green as HGX A100, red as HGX H100."""
    readings = read_bytes(capture("nvidia-smi/nvlink-status-a100.txt"))
    report = readings[0].content
    assert isinstance(report, NvLinkReport)
    assert [len(gpu.links) for gpu in report.gpus] == [12] * 8
    assert {link.gbps for gpu in report.gpus for link in gpu.links} == {200.0}
    assert judge_readings(readings, accelerators()["hgx-a100-8"]).colour is Colour.GREEN
    assert judge_readings(readings, H100).colour is Colour.RED


@pytest.mark.parametrize(("name", "model", "memory"), [("h200", "NVIDIA H200", 143771), ("h100-80gb-hbm3", "NVIDIA H100 80GB HBM3", 81559)])
def test_a_recorded_session_is_read_command_by_command(name: str, model: str, memory: int) -> None:
    """Every form in one paste says the same GPU; help texts are skipped by name; nothing that should be read is not."""
    readings = read_bytes(capture(f"nvidia-smi/session-{name}.txt"), "s")
    reports = {reading.where.removeprefix("s: "): reading.content for reading in readings if isinstance(reading.content, GpuReport)}
    assert len(reports) >= 6
    assert {report.gpus[0].model for report in reports.values()} == {model}
    assert {report.gpus[0].memory_mib for report in reports.values()} == {memory}
    assert {report.gpus[0].power_limit for report in reports.values()} == {700.0}
    assert {report.driver for report in reports.values()} == {"590.48.01"}
    assert not any(report.gaps for report in reports.values())
    assert not any(isinstance(reading.content, Unreadable) for reading in readings)
    links = next(reading.content for reading in readings if isinstance(reading.content, NvLinkReport))
    assert [link.gbps for link in links.gpus[0].links] == [pytest.approx(212.496)] * 18
    assert next(reading.content for reading in readings if isinstance(reading.content, TopologyMatrix)).gpus == ("GPU0",)
    skipped = next(reading.content for reading in readings if isinstance(reading.content, Skipped))
    assert "nvidia-smi -h" in skipped.commands
    loaded = reports["nvidia-smi -q (2)"].gpus[0]
    assert loaded.is_idle is False


@pytest.mark.parametrize("text", [STATUS, ERRORS, _matrix()], ids=["status", "errors", "matrix"])
def test_a_whole_node_is_green_and_a_cut_one_never_is(text: str) -> None:
    """Cut at any of 60 line ends and inside lines."""
    assert _judged(text).colour is Colour.GREEN, _judged(text)
    body = text.partition("Legend")[0].rstrip()
    for end in range(0, len(body) - 3, len(body) // 60):
        assert _judged(body[:end]).colour is not Colour.GREEN, body[end - 60 : end]


FAULTS = [
    (STATUS, "Link 7: 26.562 GB/s", "Link 7: <inactive>", "os.nvlink-speed", "17 of 18 links up, not link 7"),
    (STATUS, "Link 7: 26.562 GB/s", "Link 7: 13.281 GB/s", "os.nvlink-speed", "link 7 at 13.281 GB/s"),
    (STATUS, "\t Link 17: 26.562 GB/s\n", "", "os.nvlink-speed", "17 of 18 links up"),
    (ERRORS, "Link 3: Replay Errors: 0", "Link 3: Replay Errors: 4", "os.nvlink-errors", "link 3: 4 Replay Errors"),
    (ERRORS, "Link 3: Recovery Errors: 0", "Link 3: Recovery Errors: 1", "os.nvlink-errors", "link 3: 1 Recovery Errors"),
    (ERRORS, "Link 3: CRC Errors: 0", "Link 3: CRC Errors: 900", "os.nvlink-errors", "link 3: 900 CRC Errors"),
    (_matrix(), "NV18\t X \tNV18", "NV18\t X \tNV17", "os.nvlink-topology", "NV17"),
    (_matrix(), "NV18\t X \tNV18", "NV18\t X \tSYS", "os.nvlink-topology", "SYS"),
    (_matrix(), "\tPXB\tSYS", "\tSYS\tSYS", "os.nic-affinity", "0 NICs near"),
]


@pytest.mark.parametrize(("text", "good", "bad", "check", "seen"), FAULTS)
def test_one_fault_turns_exactly_its_finding_red(text: str, good: str, bad: str, check: str, seen: str) -> None:
    """A link down, slow, gone; a counter of damage; a pair without NVLink; a GPU without a NIC near by."""
    assert good in text
    verdict = _judged(text.replace(good, bad, 1))
    assert _open(verdict) == {check: Result.FAIL}
    assert seen in next(finding.seen for finding in verdict.findings if finding.check == check)


def test_all_links_down_in_one_line_is_red() -> None:
    """`all links are inActive` of one GPU."""
    blocks = re.split(r"(?=^GPU )", STATUS, flags=re.M)
    blocks[3] = _gpu_head(2) + "NVML: Unable to retrieve NVLink information as all links are inActive\n"
    assert _open(_judged("".join(blocks))) == {"os.nvlink-speed": Result.FAIL}


@pytest.mark.parametrize("word", ["N/A", "[Unknown Error]", "GPU is lost", "???"])
def test_a_word_in_the_place_of_a_number_never_passes(word: str) -> None:
    """In a status, a counter and a matrix."""
    for text, good in ((STATUS, "Link 7: 26.562 GB/s"), (ERRORS, "Link 3: CRC Errors: 0"), (_matrix(), "NV18\t X \tNV18")):
        bad = good.replace("26.562 GB/s", word).replace("Errors: 0", f"Errors: {word}").replace("X \tNV18", f"X \t{word}")
        assert _judged(text.replace(good, bad, 1)).colour is not Colour.GREEN


def test_counters_of_the_next_nvlink_generation_are_read_by_name() -> None:
    """Packets are no errors; malformed packets are; a set without any known counter of damage is undetermined."""
    link = "\t Link {k}: Tx packets: 17 packets\n\t Link {k}: Symbol BER: 15e-255\n"
    packets = "".join(_gpu_head(n) + "".join(link.replace("{k}", str(k)) for k in range(18)) for n in range(8))
    assert _judged(packets).colour is Colour.UNDETERMINED
    whole = re.sub(r"(\t Link \d+: )Symbol", r"\1Malformed packet Errors: 0\n\1Symbol", packets)
    assert _judged(whole).colour is Colour.GREEN
    assert _judged(whole.replace("Errors: 0", "Errors: 2", 1)).colour is Colour.RED


@settings(max_examples=30, deadline=None)
@given(data=st.data(), text=st.sampled_from([STATUS, ERRORS, _matrix()]))
def test_damaged_texts_never_crash(data: st.DataObject, text: str) -> None:
    """Bytes overwritten anywhere: facts or a reason."""
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    assert judge_readings(read_bytes(bytes(raw)), H100).findings is not None
