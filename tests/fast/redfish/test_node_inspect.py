"""`node inspect`: the first thing a user tries, on a recorded DGX H100 and on BMCs that should not get a password."""

import argparse
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ACCOUNT
from plain_host import PlainHost, bmc_of
from tree_bmc import TreeBmc, recorded

from metalwright.cli import node_inspect
from metalwright.model.errors import InputError, MetalwrightError
from tests.fast.redfish.listening import listening

KEYS = [
    "bmc", "identity", "power", "boot", "bios_version", "tpm", "cpus", "memory_mib", "dimms", "gpus", "nvswitches", "nvlink_edges",
    "nics", "drives", "power_supplies", "pcie_devices", "firmware", "console", "component_integrity", "gaps", "lenient_readings",
]  # fmt: skip


def inspect(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    node_inspect.add_parser(parser.add_subparsers())
    args = parser.parse_args(["inspect", *arguments])
    return int(args.run(args))


def by_name(url: str) -> str:
    """The same BMC under a name that does not say it is on this host; skips where the host has no such name."""
    name = socket.gethostname()
    try:
        reachable = socket.gethostbyname(name).startswith("127.")
    except OSError:
        reachable = False
    if not reachable:
        pytest.skip(f"the name {name} does not lead to loopback here")
    return url.replace("127.0.0.1", name)


def test_json_of_a_dgx_has_the_documented_keys(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One JSON document, its keys as in docs/node-inspect.md, the NVLink graph edge by edge with error counters."""
    monkeypatch.setenv("BMC_PASSWORD", ACCOUNT[1])
    with listening(TreeBmc(recorded("nvidia_viking"), account=ACCOUNT)) as bmc:
        assert inspect(bmc.url, "--user", ACCOUNT[0], "--password-env", "BMC_PASSWORD", "--json") == 0
        assert bmc.sessions == {}
    report = json.loads(capsys.readouterr().out)
    assert list(report) == KEYS
    assert {"both_ends_agree": True, "errors": 0, "gbps": 212.496, "gpu": 1, "gpu_name": "GPU_SXM_1", "gpu_port": 0,
            "peer": "NVSwitch_1", "peer_port": 12, "state": "up", "width": 2} in report["nvlink_edges"]  # fmt: skip
    assert (len(report["gpus"]), len(report["nvlink_edges"]), len(report["pcie_devices"])) == (8, 144, 147)
    proving = {entry["part"] for entry in report["component_integrity"] if entry["protocol"] == "SPDM" and entry["enabled"]}
    assert len(report["component_integrity"]) == 17
    assert {f"GPU_SXM_{number}" for number in range(1, 9)} <= proving
    assert report["console"] == {"ssh": {"port": 22}, "ipmi": {"port": 623}}
    page = (Path(__file__).parents[3] / "docs" / "node-inspect.md").read_text()
    assert all(f"| `{key}` |" in page for key in KEYS)


def test_people_see_the_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    """The text shows each GPU's links per switch, and a link that is down or has errors by name."""
    tree = dict(recorded("nvidia_viking"))
    port = "/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_SXM_3/Ports/NVLink_4"
    tree[port] = tree[port].replace(b'"LinkUp"', b'"LinkDown"')
    with listening(TreeBmc(tree)) as bmc:
        assert inspect(bmc.url) == 0
    text = capsys.readouterr().out
    assert "NVLink: 143 of 144 up, 144 at 212.496 Gbit/s, 144 confirmed from both ends" in text
    assert "! GPU_SXM_3 port 4 to NVSwitch_" in text
    assert "1652923003067" in text


def test_no_password_for_an_unknown_certificate(
    make_tls: Callable[[], ssl.SSLContext], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beyond loopback the certificate is shown first and the password sent only to the fingerprint a person confirmed."""
    monkeypatch.setenv("BMC_PASSWORD", ACCOUNT[1])
    account = ("--user", ACCOUNT[0], "--password-env", "BMC_PASSWORD")
    with listening(bmc_of(PlainHost(), account=ACCOUNT, tls=make_tls())) as bmc:
        with pytest.raises(InputError, match="sha256:") as caught:
            inspect(by_name(bmc.url), *account)
        assert [asked.path for asked in bmc.asked] == ["/redfish/v1/"]
        fingerprint = caught.value.hint.rpartition(" ")[2]
        assert inspect(by_name(bmc.url), *account, "--fingerprint", fingerprint) == 0
        with pytest.raises(MetalwrightError, match="certificate"):
            inspect(by_name(bmc.url), *account, "--fingerprint", "sha256:" + "0" * 64)
    assert ACCOUNT[1] not in capsys.readouterr().out


def test_no_password_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain HTTP beyond loopback gets no password unless asked for by its long name."""
    monkeypatch.setenv("BMC_PASSWORD", ACCOUNT[1])
    account = ("--user", ACCOUNT[0], "--password-env", "BMC_PASSWORD")
    with listening(bmc_of(PlainHost(), account=ACCOUNT)) as bmc:
        with pytest.raises(InputError, match="not encrypted"):
            inspect(by_name(bmc.url), *account)
        assert bmc.requests("POST") == []
        assert inspect(by_name(bmc.url), *account, "--insecure-first-use") == 0


def test_missing_password_is_explained() -> None:
    """A user without a password, or an unset variable, is the operator's mistake with a hint."""
    for more in ((), ("--password-env", "NOT_SET_ANYWHERE")):
        with pytest.raises(InputError) as caught:
            inspect("https://127.0.0.1:9", "--user", "x", *more)
        assert caught.value.hint


def test_a_bmc_that_wants_an_account_says_so() -> None:
    """Without a user, a closed BMC is asked once and the answer names what is missing."""
    with listening(bmc_of(PlainHost(), account=ACCOUNT)) as bmc, pytest.raises(MetalwrightError, match="only to an account"):
        inspect(bmc.url)


def test_nobody_there_is_a_clear_error() -> None:
    """A closed port is one error of the model with a hint, never a traceback."""
    with pytest.raises(MetalwrightError) as caught:
        inspect("https://127.0.0.1:9")
    assert "127.0.0.1:9" in caught.value.message
