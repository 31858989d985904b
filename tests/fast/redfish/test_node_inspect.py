"""`node inspect`: the first thing a user tries, on a recorded DGX H100 and on BMCs that should not get a password."""

import argparse
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from plain_host import PlainHost, bmc_of
from tree_bmc import TreeBmc, recorded

from conftest import ACCOUNT
from metalwright.cli import node_inspect
from metalwright.cli.main import main
from metalwright.model.errors import InputError, MetalwrightError
from tests.fast.redfish.listening import listening

KEYS = [
    "bmc", "identity", "power", "boot", "bios_version", "tpm", "cpus", "memory_mib", "dimms", "gpus", "nvswitches", "nvlink_edges",
    "nics", "drives", "power_supplies", "pcie_devices", "firmware", "console", "component_integrity", "gaps", "lenient_readings",
    "stands_out",
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
    assert "NVLink: 143 of 144 up, 143 at 212.496 Gbit/s, 144 confirmed from both ends" in text
    assert "! NVLink GPU_SXM_3 port 4 to NVSwitch_" in text
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


def spoken(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    """What the whole command says on standard error when it ends with `code`."""
    assert main(["node", *words]) == code, words
    said = capsys.readouterr().err
    assert said.startswith("metalwright: ")
    assert "  hint: " in said
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    "url",
    ["", "10.20.0.11", "http://", "https://[::1", "ftp://x", "https://u:p@h", "https://h:99999", "https://h:0", "https://a b", "https://x\ny",
     "https://..", f"https://{'a' * 300}.com", "https://bmc-z\u00fcrich"],
)  # fmt: skip
def test_what_is_no_url_is_bad_input(url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Exit 3 with a hint, for `inspect` and for `capture`; nothing is written."""
    spoken(capsys, 3, "inspect", url)
    spoken(capsys, 3, "capture", url, "--output", str(tmp_path / "c.tar.xz"))
    assert list(tmp_path.iterdir()) == []


def test_other_bad_arguments_are_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """A fingerprint that is none, a time that is none, a user without a password."""
    for more in (
        ("--fingerprint", "abc"),
        ("--timeout", "0"),
        ("--timeout", "nan"),
        ("--user", "x"),
        ("--user", "x", "--password-env", "NO"),
    ):
        spoken(capsys, 3, "inspect", "https://127.0.0.1:1", *more)


@contextmanager
def answering(reply: bytes | None) -> Iterator[str]:
    """A host that is no BMC: sends the same bytes to whoever connects and asks, and hangs up; None: says nothing."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                with suppress(OSError):
                    connection.recv(65536)
                    if reply is None:
                        connection.recv(65536)
                    else:
                        connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


ELSEWHERE = b"HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n"


def http(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize(
    "reply",
    [b"", b"SSH-2.0-x\r\n", http(b"<html>It works!</html>"), http(b"[]"), http(b"{}"),
     http(b"null"), http(b"", b"204 No Content"),
     http(b"no", b"404 Not Found"), http(b"busy", b"503 Service Unavailable"), http(b'{"RedfishVersion": 7}'),
     b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{", ELSEWHERE],
)  # fmt: skip
def test_what_is_no_bmc_is_a_clear_error(reply: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever answers there, over HTTP and where TLS was expected: exit 4 and words."""
    with answering(reply) as host:
        spoken(capsys, 4, "inspect", f"http://{host}")
        spoken(capsys, 4, "inspect", f"https://{host}")


def test_nobody_and_silence_are_clear_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """A closed port says so in the system's words; a host that says nothing is given up after --timeout."""
    assert "Connection refused" in spoken(capsys, 4, "inspect", "https://127.0.0.1:1")
    with answering(None) as host:
        assert "no complete answer within 0.2 s" in spoken(capsys, 4, "inspect", f"http://{host}", "--timeout", "0.2")


def test_a_wrong_password_is_tried_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """BMCs lock accounts: one login, then words that name the way to correct it."""
    monkeypatch.setenv("BMC_PASSWORD", "wrong")
    with listening(bmc_of(PlainHost(), account=ACCOUNT)) as bmc:
        said = spoken(capsys, 4, "inspect", bmc.url, "--user", ACCOUNT[0], "--password-env", "BMC_PASSWORD")
        assert len(bmc.requests("POST")) == 1
    assert "refused the account" in said
    assert "wrong" not in said


def test_every_key_of_every_machine_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/node-inspect.md names each key that the JSON of four kinds of machines has, down to the parts."""
    page = (Path(__file__).parents[3] / "docs" / "node-inspect.md").read_text()
    documented = set(re.findall(r"`([a-z_]+)`", page))
    for name in ("nvidia_gb200", "dell", "supermicro"):
        with listening(TreeBmc(recorded(name))) as bmc:
            assert inspect(bmc.url, "--json") == 0
        report = json.loads(capsys.readouterr().out)
        assert list(report) == KEYS
        used = {
            key
            for value in report.values()
            for part in (value if isinstance(value, list) else [value])
            if isinstance(part, dict)
            for key in part
        }
        assert used <= documented, name


def test_people_see_what_stands_out(capsys: pytest.CaptureFixture[str]) -> None:
    """On the recorded GB200 tray one GPU has another firmware than its neighbours: that is said first, and equal ones are one row."""
    with listening(TreeBmc(recorded("nvidia_gb200"))) as bmc:
        assert inspect(bmc.url) == 0
    text = capsys.readouterr().out
    assert "! HGX_FW_GPU_1 97.00.72.00.00: the other HGX_FW_GPU_* have 97.00.6C.00.03" in text
    assert re.search(r"HGX_FW_GPU_\{0,2,3\} +97\.00\.6C\.00\.03", text)
    assert "2 CPUs, 960 GiB in 2 modules, 4 × GPU of unknown model" in text
    assert "gpus/*/serial (4)" in text
