"""lspci, ethtool and the SMART logs of drives: a healthy host is green, one fault of each kind is red, what is not told is open."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.gates.readings.judge import ReadingsVerdict, judge_readings
from metalwright.model.judgement import Colour, Result
from metalwright.readers.detect import read_bytes

GPU = """1b:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
	Control: I/O- Mem+ BusMaster+
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 32GT/s, Width x16
"""
NIC = """1a:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 32GT/s, Width x16
"""
DRIVE = """0000:2b:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd PM1743
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 32GT/s, Width x4, ASPM L1
		LnkSta:	Speed 32GT/s, Width x4
"""
BRIDGE = """15:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)
	Capabilities: [170 v1] Access Control Services
		ACSCap:	SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl+ DirectTrans+
		ACSCtl:	SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
"""
LSPCI = GPU + "\n" + NIC + "\n" + DRIVE + "\n" + BRIDGE

PORT = """Settings for eth{n}:
    Supported ports: [ FIBRE ]
    Supported link modes:   100000baseCR4/Full
                            400000baseCR8/Full
    Advertised link modes:  100000baseCR4/Full
                            400000baseCR8/Full
    Advertised pause frame use: No
    Speed: 400000Mb/s
    Duplex: Full
    Link detected: yes
"""
PORTS = PORT.replace("{n}", "0") + PORT.replace("{n}", "1")

SMART_TEXT = """Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
critical_warning			: 0
temperature				: 38 °C (311 K)
available_spare				: 100%
available_spare_threshold		: 10%
percentage_used				: 3%
media_errors				: 0
"""
SMARTCTL_TEXT = """=== START OF SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED
Critical Warning:                   0x00
Temperature:                        38 Celsius
Available Spare:                    100%
Available Spare Threshold:          10%
Percentage Used:                    3%
Media and Data Integrity Errors:    0
"""
LOG: dict[str, Any] = {
    "critical_warning": 0,
    "temperature": 311,
    "avail_spare": 100,
    "spare_thresh": 10,
    "percent_used": 3,
    "media_errors": 0,
}
SMARTCTL: dict[str, Any] = {
    "nvme_smart_health_information_log": {
        "critical_warning": 0,
        "temperature": 38,
        "available_spare": 100,
        "available_spare_threshold": 10,
        "percentage_used": 3,
        "media_errors": 0,
    }
}
HEALTHY = {
    "lspci": LSPCI,
    "ethtool": PORTS,
    "nvme": SMART_TEXT,
    "smartctl": SMARTCTL_TEXT,
    "json": json.dumps(LOG),
    "j": json.dumps(SMARTCTL),
}


def _judged(text: str) -> ReadingsVerdict:
    return judge_readings(read_bytes(text.encode()), None)


def _open(text: str) -> dict[str, Result]:
    return {finding.check: finding.result for finding in _judged(text).findings if finding.result is not Result.PASS}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_host_is_green_and_a_cut_text_never_is(name: str) -> None:
    """Every tool, and its text cut at 40 places before the last fact."""
    text = HEALTHY[name]
    assert _judged(text).colour is Colour.GREEN, _open(text)
    if name not in ("lspci", "ethtool"):  # a listing that ends after a whole device is a whole listing
        for end in range(0, len(text) - 5, max(len(text) // 40, 1)):
            assert _judged(text[:end]).colour is not Colour.GREEN, text[:end]


FAULTS = [
    (LSPCI, "Speed 32GT/s, Width x16\n\n1a", "Speed 32GT/s, Width x8 (downgraded)\n\n1a", "os.pcie-links", Result.FAIL),
    (LSPCI, "LnkSta:	Speed 32GT/s, Width x4", "LnkSta:	Speed 32GT/s, Width x2 (downgraded)", "os.pcie-links", Result.FAIL),
    (LSPCI, "LnkSta:	Speed 32GT/s, Width x16", "LnkSta:	Speed 2.5GT/s (downgraded), Width x16", "os.pcie-links", Result.UNDETERMINED),
    (LSPCI, "LnkSta:	Speed 32GT/s, Width x16", "LnkSta:	unreadable", "os.pcie-links", Result.UNDETERMINED),
    (LSPCI, "ACSCtl:	SrcValid- TransBlk- ReqRedir-", "ACSCtl:	SrcValid+ TransBlk- ReqRedir+", "os.acs", Result.FAIL),
    (PORTS, "Link detected: yes", "Link detected: no", "os.port-links", Result.FAIL),
    (PORTS, "Speed: 400000Mb/s", "Speed: 100000Mb/s", "os.port-links", Result.FAIL),
    (PORTS, "Speed: 400000Mb/s", "Speed: Unknown!", "os.port-links", Result.UNDETERMINED),
    (PORTS, "    Link detected: yes\n", "", "os.port-links", Result.UNDETERMINED),
    (SMART_TEXT, ": 0\ntemp", ": 0x4\ntemp", "os.drive-health", Result.FAIL),
    (SMART_TEXT, "media_errors				: 0", "media_errors				: 1,024", "os.drive-health", Result.FAIL),
    (SMART_TEXT, ": 3%", ": 97%", "os.drive-health", Result.FAIL),
    (SMART_TEXT, ": 100%", ": 9%", "os.drive-health", Result.FAIL),
    (SMART_TEXT, ": 3%", ": N/A", "os.drive-health", Result.UNDETERMINED),
    (SMARTCTL_TEXT, "0x00", "0x01", "os.drive-health", Result.FAIL),
    (json.dumps(LOG), '"media_errors": 0', '"media_errors": 7', "os.drive-health", Result.FAIL),
    (json.dumps(LOG), '"critical_warning": 0', '"critical_warning": {"value": 4, "spare": 0}', "os.drive-health", Result.FAIL),
    (json.dumps(SMARTCTL), '"percentage_used": 3', '"percentage_used": null', "os.drive-health", Result.UNDETERMINED),
]


@pytest.mark.parametrize(("text", "good", "bad", "check", "result"), FAULTS)
def test_one_fault_opens_exactly_its_check(text: str, good: str, bad: str, check: str, result: Result) -> None:
    """Narrow, slow, unreadable links; redirection; a port down, slow or unknown; a drive that warns, errs, wears or says nothing."""
    assert good in text
    assert _open(text.replace(good, bad, 1)) == {check: result}


def test_a_listing_without_root_says_so() -> None:
    """Capabilities that are hidden make no pass."""
    hidden = "1b:00.0 3D controller: NVIDIA Corporation GH100\n\tFlags: bus master\n\tCapabilities: <access denied>\n"
    assert _judged(hidden).colour is Colour.UNDETERMINED
    assert _judged(LSPCI + "\n" + hidden.replace("1b", "1c")).colour is Colour.UNDETERMINED


@settings(max_examples=30, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(HEALTHY)))
def test_damaged_texts_never_crash(data: st.DataObject, name: str) -> None:
    """Bytes overwritten anywhere."""
    raw = bytearray(HEALTHY[name].encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    assert judge_readings(read_bytes(bytes(raw)), None).findings is not None
