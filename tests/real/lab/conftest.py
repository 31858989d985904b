"""What every real-boot test needs: root, QEMU, a network namespace of its own, and a RAM disk with a small probe in place of the agent."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from boot_server import CACHE, RECIPE, TAPS

from lab.network import create_network, enter_network, remove_network
from metalwright.drivers.images.mmdebstrap import RawImage, build_system_image
from metalwright.drivers.netboot.ramdisk import RamDisk, build_ramdisk
from metalwright.model import node_data

TOOLS = ("qemu-system-x86_64", "dnsmasq", "ip", "mmdebstrap", "setpriv", "prlimit")

REPORT = """
import hashlib, json, os, socket, ssl, time, urllib.request

def report(url, pin, **more):
    serial = open("/sys/class/dmi/id/product_serial").read().strip()
    drives = [name for name in os.listdir("/sys/block") if name.startswith("nvme")]
    disks = {name: open(f"/sys/block/{name}/device/serial").read().strip() for name in drives}
    boot_id = open("/proc/sys/kernel/random/boot_id").read().strip()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, port = url.removeprefix("https://").split(":")
    with context.wrap_socket(socket.create_connection((host, int(port)), timeout=20)) as pinned:
        seen = hashlib.sha256(pinned.getpeercert(binary_form=True)).hexdigest()
    assert "sha256:" + seen == pin, (seen, pin)
    body = json.dumps({"serial": serial, "disks": disks, "boot_id": boot_id, **more}).encode()
    urllib.request.urlopen(url + "/probe", data=body, context=context, timeout=20)
    print("probe reported", flush=True)
"""
MAIN = """
from metalwright.agent.report import report

words = dict(word.split("=", 1) for word in open("/proc/cmdline").read().split() if word.startswith("mw."))
report(words["mw.agent_url"], words["mw.pin"])
"""
INSTALLED = """
import hashlib, json, os, subprocess, time
from metalwright.agent.report import report
from metalwright.model.node_data import SLOT_BYTES, slot_offset, unpack

with open("/dev/nvme0n1", "rb") as disk:
    disk.seek(slot_offset(disk.seek(0, os.SEEK_END)))
    data = unpack(disk.read(SLOT_BYTES))
with open("/dev/disk/by-partlabel/system", "rb") as slot:
    digest = hashlib.file_digest(slot, "sha256").hexdigest()
with open("/etc/written", "w") as written:
    written.write("in memory")
failed = subprocess.run(["systemctl", "list-units", "--failed", "--plain", "--no-legend"], capture_output=True, text=True).stdout
while True:
    try:
        report(data.agent_url, data.pin, node=data.node, system=digest, failed=failed, kernel=os.uname().release)
        break
    except OSError as not_yet:
        print("no network yet:", not_yet, flush=True)
        time.sleep(0.5)
"""
NODE_DATA = Path(node_data.__file__).read_text()


@pytest.fixture(scope="session")
def needs_machines() -> None:
    """Skips by name what cannot be had."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (lab/packages.txt)")
    if os.geteuid() != 0:
        pytest.skip("real boots need root: network namespace and taps")
    if not Path("/dev/net/tun").exists():
        pytest.skip("this machine has no /dev/net/tun")


@pytest.fixture
def lab_network(needs_machines: None) -> Iterator[str]:
    """A namespace that this process is inside of for one test, with two taps."""
    name = f"mw-test-{os.getpid()}"
    back = os.open("/proc/self/ns/net", os.O_RDONLY)
    remove_network(name)
    create_network(name, TAPS)
    try:
        enter_network(name)
        yield name
    finally:
        enter_network(Path(f"/proc/self/fd/{back}"))
        os.close(back)
        remove_network(name)


@pytest.fixture(scope="session")
def probe_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in for the metalwright package: its agent reports once, over pinned TLS."""
    package = tmp_path_factory.mktemp("probe")
    files = {"__init__.py": "", "agent/__init__.py": "", "agent/report.py": REPORT, "agent/main.py": MAIN}
    files |= {"agent/installed.py": INSTALLED, "model/__init__.py": "", "model/node_data.py": NODE_DATA}
    for path, text in files.items():
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).write_text(text)
    return package


@pytest.fixture(scope="session")
def probe_ramdisk(needs_machines: None, probe_package: Path) -> RamDisk:
    return build_ramdisk(CACHE, package=probe_package)


@pytest.fixture(scope="session")
def probe_image(needs_machines: None, probe_package: Path) -> RawImage:
    return build_system_image(RECIPE, CACHE, package=probe_package)
