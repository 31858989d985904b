"""What the agent reads of Linux: paths and commands. Raw text goes to the server, which parses it."""

import glob
import os
import shutil
import subprocess
from collections.abc import Mapping

from metalwright.model.agent_messages import CommandOutput, RawInventory

PATTERNS = (
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/product_serial",
    "/sys/class/dmi/id/product_uuid",
    "/sys/class/dmi/id/board_serial",
    "/sys/class/dmi/id/board_vendor",
    "/sys/class/dmi/id/board_name",
    "/sys/class/dmi/id/bios_version",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/version",
    "/proc/cmdline",
    "/sys/bus/pci/devices/*/vendor",
    "/sys/bus/pci/devices/*/device",
    "/sys/bus/pci/devices/*/class",
    "/sys/bus/pci/devices/*/numa_node",
    "/sys/bus/pci/devices/*/current_link_speed",
    "/sys/bus/pci/devices/*/current_link_width",
    "/sys/bus/pci/devices/*/max_link_speed",
    "/sys/bus/pci/devices/*/max_link_width",
    "/sys/class/nvme/nvme*/serial",
    "/sys/class/nvme/nvme*/model",
    "/sys/class/nvme/nvme*/address",
    "/sys/class/nvme/nvme*/firmware_rev",
    "/sys/block/nvme*n1/size",
    "/sys/class/net/*/address",
    "/sys/class/net/*/speed",
    "/sys/class/infiniband/*/fw_ver",
    "/sys/class/infiniband/*/ports/*/state",
    "/sys/class/infiniband/*/ports/*/rate",
    "/sys/class/infiniband/*/ports/*/link_layer",
    "/sys/class/tpm/tpm*/tpm_version_major",
)
LINKS = ("/sys/class/net/*/device", "/sys/class/infiniband/*/device", "/sys/bus/pci/devices/*/iommu_group")
"""Symbolic links of which the target is the fact."""
COMMANDS: Mapping[str, tuple[str, ...]] = {"lspci": ("lspci", "-Dnn")}
MAX_FILE_BYTES = 256 * 1024
MAX_FILES = 20_000
COMMAND_S = 20.0
SECRET_WORDS = ("mw.token=",)


def collect() -> RawInventory:
    """Everything readable, and why the rest was not."""
    files: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    for pattern in PATTERNS:
        for path in sorted(glob.glob(pattern))[: MAX_FILES - len(files)]:
            try:
                files[path] = _scrubbed(_read(path))
            except OSError as error:
                if not _is_expected(path, error):
                    unreadable[path] = error.strerror or str(error)
    for pattern in LINKS:
        for path in sorted(glob.glob(pattern)):
            try:
                files[path] = os.readlink(path)
            except OSError as error:
                unreadable[path] = error.strerror or str(error)
    commands = {name: _run(argv) for name, argv in COMMANDS.items() if shutil.which(argv[0])}
    return RawInventory(files=files, commands=commands, unreadable=unreadable)


def _is_expected(path: str, error: OSError) -> bool:
    """A network port that is down has no speed: the kernel says EINVAL, and that is no gap."""
    return path.startswith("/sys/class/net/") and path.endswith("/speed") and error.errno == 22


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(MAX_FILE_BYTES).decode("utf-8", errors="replace")


def _scrubbed(text: str) -> str:
    """The kernel command line carries the boot token: it is never reported."""
    if not any(word in text for word in SECRET_WORDS):
        return text
    return " ".join(word for word in text.split(" ") if not word.startswith(SECRET_WORDS))


def _run(argv: tuple[str, ...]) -> CommandOutput:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=COMMAND_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return CommandOutput(exit_code=-1, stdout="", stderr=str(error))
    limit = 1 << 20
    return CommandOutput(
        exit_code=done.returncode,
        stdout=done.stdout[:limit].decode(errors="replace"),
        stderr=done.stderr[:limit].decode(errors="replace"),
    )
