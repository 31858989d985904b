"""Kernel logs: XIDs and SXids once per start and part, the driver's own word first, the versioned table second, repetition last."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.codec.events import event_table, parse
from metalwright.gates.readings.judge import ReadingsVerdict, judge_readings
from metalwright.gates.readings.kernel_verdicts import verdicts
from metalwright.model.errors import InvariantError
from metalwright.model.event_table import GpuVerdict
from metalwright.model.judgement import Colour, Result
from metalwright.model.kernel_log import KernelLog, Trouble
from metalwright.readers.detect import read_bytes
from tests.kit.captures import capture

BOOT = "[    0.000000] Linux version 6.8.0-60-generic (build) #63-Ubuntu SMP\n[    9.100000] NVRM: loading NVIDIA UNIX Open Kernel Module\n"
ON = "0000:9b:00"


def _xid(code: int, words: str = "pid=1, name=python, oops", at: float = 100.0, part: str = ON) -> str:
    return f"[{at:12.6f}] NVRM: Xid (PCI:{part}): {code}, {words}\n"


def _sxid(code: int, words: str) -> str:
    return f"[  120.000000] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): {code}, {words}\n"


def _log(text: str) -> KernelLog:
    content = read_bytes(text.encode())[0].content
    assert isinstance(content, KernelLog), content
    return content


def _verdict(text: str) -> GpuVerdict | None:
    found = verdicts(_log(text))
    assert len(found) == 1, found
    return found[0].verdict


def _judged(text: str) -> ReadingsVerdict:
    return judge_readings(read_bytes(text.encode()), None)


def _open(text: str) -> dict[str, Result]:
    return {finding.check: finding.result for finding in _judged(text).findings if finding.result is not Result.PASS}


def test_the_recorded_log_is_one_event_of_one_gpu() -> None:
    """Five lines of XID 119 of the GPU with that serial: a reset; its absence of a start is no clean bill for the rest."""
    raw = capture("xid/dmesg-xid-119.log")
    log = _log(raw.decode())
    xids = [event for event in log.events if event.kind is Trouble.XID]
    assert [(event.part, event.code, event.count, event.line) for event in xids] == [("0000:9b:00", 119, 5, 3)]
    assert log.gpus == (("0000:9b:00", "GPU-509665ad-b600-ac93-3616-d754b23d636d", "1650124014249"),)
    assert _verdict(raw.decode()) is GpuVerdict.RESET
    assert _open(raw.decode()) == {"service.xid": Result.FAIL}


def test_the_table_knows_every_code_of_the_recorded_catalogue() -> None:
    """What the catalogue of NVIDIA gives an action is in the table, with the same meaning; unused codes are not."""
    actions = dict(re.findall(r'"(\d+)": \{\s*"action": "(\w+)"', capture("xid/xid-catalogue.json").decode()))
    meaning = {"IGNORE": "keep", "RESTART_APP": "keep", "RESET_GPU": "reset", "RESTART_BM": "reboot", "CHECK_MECHANICALS": "reseat"}
    for code, action in actions.items():
        group = event_table().group_of("xid", int(code))
        if action in meaning:
            assert group is not None, code
            assert group.verdict == meaning[action], code


SINGLE = [
    (_xid(31), GpuVerdict.KEEP),
    (_xid(43), GpuVerdict.KEEP),
    (_xid(63), GpuVerdict.KEEP),
    (_xid(48), GpuVerdict.RESET),
    (_xid(95), GpuVerdict.RESET),
    (_xid(79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."), GpuVerdict.REBOOT),
    (f"[  100.000000] NVRM: GPU {ON}.0: GPU has fallen off the bus.\n", GpuVerdict.REBOOT),
    (_xid(54), GpuVerdict.RESEAT),
    (_xid(74, "pid=1, NVLink: fatal error detected on link 6(0x10000, 0x0)"), GpuVerdict.DRAIN_AFTER_JOB),
    (_xid(163), GpuVerdict.DRAIN_AFTER_JOB),
    (_xid(163) + _xid(162, at=200), GpuVerdict.KEEP),
    (_xid(162) + _xid(163, at=200), GpuVerdict.DRAIN_AFTER_JOB),
    (_xid(5), None),
    (_xid(999), None),
    (_xid(999) + _xid(95, at=200), GpuVerdict.RESET),
    (_xid(45) + _xid(13, at=200), GpuVerdict.KEEP),
    (_xid(149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000 0x00000000)"), GpuVerdict.RESET),
    (_xid(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x00000000 0x00000000)"), GpuVerdict.KEEP),
    (_xid(149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x000004c6 0x00000002 0x00000000)"), GpuVerdict.KEEP),
    (_xid(145, "RLW_REMAP Nonfatal XC0 i0 Link 03 (0x00000086 0x00000100 0x00000000)"), GpuVerdict.KEEP),
    (_xid(145, "RLW_REMAP Nonfatal XC0 i0 Link 03 (0x00000086 0x00000140 0x00000000)"), GpuVerdict.RESET),
    (_xid(145, "RLW_NEW_UNIT Fatal XC0 i0 Link 03 (0x00000086 0x00000140 0x00000000)"), GpuVerdict.RESET),
    (_xid(145, "RLW_NEW_UNIT Nonfatal XC0 i0 Link 03 (0x00000086 0x00000140 0x00000000)"), None),
    (_xid(145, "something else entirely"), None),
    (_sxid(20034, "Fatal, Link 30 LTSSM Fault Up"), GpuVerdict.DRAIN_AFTER_JOB),
    (_sxid(12020, "Fatal, Link 30 egress"), GpuVerdict.RESET),
    (_sxid(12028, "Non-fatal, Link 57 egress non-posted PRIV error (First)"), GpuVerdict.REBOOT),
    (_sxid(20001, "Non-fatal, Link 12 TX Replay Error"), GpuVerdict.KEEP),
    (_sxid(20001, "Fatal, Link 12 TX Replay Error"), GpuVerdict.DRAIN_NOW),
    (_sxid(99999, "Non-fatal, Link 1"), None),
    (f"[  100.000000] amdgpu {ON}.0: amdgpu: 1 uncorrectable hardware errors detected in umc block\n", GpuVerdict.RESET),
]


@pytest.mark.parametrize(("line", "verdict"), SINGLE)
def test_each_event_has_its_verdict(line: str, verdict: GpuVerdict | None) -> None:
    """By the table; unknown codes by nobody, which is undetermined and not harmless."""
    assert _verdict(BOOT + line) is verdict
    colour = {GpuVerdict.KEEP: Colour.GREEN, None: Colour.UNDETERMINED}.get(verdict, Colour.RED)
    assert _judged(BOOT + line).colour is colour
    if verdict not in (GpuVerdict.KEEP, None):
        assert _open(BOOT + line) == {"service.xid": Result.FAIL}


def _asks(was: str, now: str, at: float = 300.0) -> str:
    return _xid(154, f"GPU recovery action changed from 0x0 ({was}) to 0x1 ({now})", at)


OWN_WORD = [
    (_xid(119) + _asks("None", "GPU Reset Required"), GpuVerdict.RESET),
    (_xid(119) + _asks("None", "Node Reboot Required"), GpuVerdict.REBOOT),
    (_xid(119) + _asks("None", "OS Reboot"), GpuVerdict.REBOOT),
    (_xid(119) + _asks("None", "Drain P2P"), GpuVerdict.DRAIN_AFTER_JOB),
    (_xid(119) + _asks("None", "Drain and Reset"), GpuVerdict.RESET),
    (_xid(31) + _asks("None", "GPU Reset Required"), GpuVerdict.RESET),
    (_xid(119) + _asks("None", "GPU Reset Required") + _asks("GPU Reset Required", "None", 400), GpuVerdict.KEEP),
    (_xid(119) + _asks("GPU Reset Required", "None") + _xid(79, at=500), GpuVerdict.REBOOT),
    (_xid(119) + _asks("None", "Something New"), None),
]


@pytest.mark.parametrize(("lines", "verdict"), OWN_WORD)
def test_the_drivers_own_word_goes_first(lines: str, verdict: GpuVerdict | None) -> None:
    """XID 154 decides, a later None takes it back, later events count again, and words that nobody knows are undetermined."""
    assert _verdict(BOOT + lines) is verdict


def test_a_start_ends_an_event_and_its_return_is_hardware() -> None:
    """Before the last start: over. Again after it: what a reset did not cure is returned, what fell off the bus is reseated."""
    assert _verdict(BOOT + _xid(95) + BOOT) is GpuVerdict.KEEP
    assert _verdict(BOOT + _xid(95) + BOOT + _xid(95)) is GpuVerdict.RMA
    assert _verdict(BOOT + _xid(79) + BOOT + _xid(79)) is GpuVerdict.RESEAT
    assert _verdict(BOOT + _xid(64) + BOOT + _xid(95)) is GpuVerdict.RESET
    assert _verdict(BOOT + _xid(31) + BOOT + _xid(31)) is GpuVerdict.KEEP
    assert _log(BOOT + BOOT + _xid(31)).boots == 2
    marked = "-- Boot 0123456789abcdef0123456789abcdef --\n"
    assert _log(marked + BOOT + _xid(31) + marked + BOOT).boots == 2
    assert _log(_xid(31, at=90000) + _xid(31, at=20)).boots == 2


def test_repeats_are_one_event_with_a_count() -> None:
    """800,000 repeats of one XID are one finding."""
    log = _log(BOOT + _xid(95) * 5000)
    assert [(event.code, event.count) for event in log.events] == [(95, 5000)]


def test_the_same_shader_unit_again_and_again_is_hardware() -> None:
    """XID 13 of one GPC and TPC three times drains after the job; of different units it is the application."""
    one = "".join(_xid(13, f"pid={pid}, Graphics SM Warp Exception on (GPC 7, TPC 0, SM 0): Out Of Range Address") for pid in range(3))
    many = "".join(_xid(13, f"pid=1, Graphics SM Warp Exception on (GPC {n}, TPC 0, SM 0): Out Of Range Address") for n in range(3))
    assert _verdict(BOOT + one) is GpuVerdict.DRAIN_AFTER_JOB
    assert _verdict(BOOT + many) is GpuVerdict.KEEP


def test_many_gpus_with_one_code_are_one_incident() -> None:
    """Eight GPUs with one code: one finding of the node that says not to drain them one by one."""
    text = BOOT + "".join(_xid(79, part=f"0000:{n}b:00") for n in range(8))
    findings = [finding for finding in _judged(text).findings if finding.result is Result.FAIL]
    assert len(findings) == 1
    assert "8 of 8" in findings[0].seen
    assert "one incident" in findings[0].do


OTHERS = [
    (f"[   99.000000] pcieport {ON}.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer\n", "service.pcie-errors"),
    (f"[   99.000000] pcieport {ON}.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer\n" * 81, "service.pcie-errors"),
    ("[   99.000000] EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0\n", "service.memory-errors"),
    ("[   99.000000] EDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1\n" * 25, "service.memory-errors"),
    ("[   99.000000] mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: be00000000000108\n", "service.memory-errors"),
    ("[   99.000000] nvme nvme3: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff\n", "service.drive-errors"),
    ("[   99.000000] nouveau 0000:9b:00.0: NVIDIA GH100 (180000a1)\n", "os.nouveau"),
]


@pytest.mark.parametrize(("line", "check"), OTHERS)
def test_each_other_fault_turns_exactly_its_check_red(line: str, check: str) -> None:
    """PCIe, memory, machine checks, drives, nouveau: also in a log that does not reach back to the start; few corrected ones pass."""
    assert _open(BOOT + line) == {check: Result.FAIL}
    assert check in {finding.check for finding in _judged(line * 3).findings if finding.result is Result.FAIL}
    if line.count("\n") > 1:
        assert _judged(BOOT + line.splitlines(keepends=True)[0]).colour is Colour.GREEN


def test_part_of_a_log_never_passes() -> None:
    """A tail without the machine's start, a log without a GPU driver, an XID that cannot be read, an empty line."""
    tail = "[ 5000.000000] NVRM: some other line\n" * 5
    for text in (tail, "[    0.000000] Linux version 6.8\n" * 4, BOOT + "[   80.000000] NVRM: Xid (PCI:0000:9b:00): abc, oops\n", "\n"):
        assert _judged(text).colour is not Colour.GREEN, text
    assert _judged(BOOT).colour is Colour.GREEN


def test_a_damaged_table_is_refused() -> None:
    """Half a table, or a code with two verdicts, never judges."""
    text = 'version = 1\nrecovery = []\nnvlink = []\n[[group]]\nkind="xid"\nverdict="keep"\nwhy="w"\nsource="s"\ndate="d"\ncodes=[1]\n'
    assert parse(text).version == 1
    for bad in ("", "version = 1", text + text[text.index("[[group]]") :], text.replace("keep", "whatever")):
        with pytest.raises(InvariantError):
            parse(bad)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.sampled_from([line for line, _ in SINGLE + OWN_WORD]), st.text(max_size=80)), max_size=8))
def test_any_mixture_of_lines_is_judged_and_a_fault_stays_a_fault(lines: list[str]) -> None:
    """No crash; an uncontained memory error after the last start is red or worse whatever stands around it."""
    text = BOOT + "\n".join(lines) + "\n" + _xid(95, at=90_000, part="0000:aa:00")
    assert _judged(text).colour is Colour.RED
