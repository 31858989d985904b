"""What the agent reads of Linux: paths and links. Raw text goes to the server, which parses it."""

import errno
import glob
import os
from collections.abc import Iterator

from metalwright.model.agent_messages import RawInventory

PATTERNS = (
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/product_serial",
    "/sys/class/dmi/id/product_uuid",
    "/sys/class/dmi/id/board_serial",
    "/sys/class/dmi/id/board_vendor",
    "/sys/class/dmi/id/board_name",
    "/sys/class/dmi/id/bios_version",
    "/proc/meminfo",
    "/proc/version",
    "/proc/cmdline",
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
    "/sys/bus/pci/devices/*/vendor",
    "/sys/bus/pci/devices/*/device",
    "/sys/bus/pci/devices/*/class",
    "/sys/bus/pci/devices/*/numa_node",
    "/sys/bus/pci/devices/*/current_link_speed",
    "/sys/bus/pci/devices/*/current_link_width",
    "/sys/bus/pci/devices/*/max_link_speed",
    "/sys/bus/pci/devices/*/max_link_width",
    "/proc/cpuinfo",
)
"""The most needed first: what comes after the room is used up is named as unreadable."""
LINKS = ("/sys/class/net/*/device", "/sys/class/infiniband/*/device", "/sys/bus/pci/devices/*/iommu_group")
"""Symbolic links of which the target is the fact."""
MAX_FILE_BYTES = 2 << 20
"""The largest is /proc/cpuinfo: 1.6 kB per hardware thread. A file that is longer is named as unreadable, never cut off in silence."""
MAX_ALL_BYTES = 3 << 20
"""Of paths and texts together; the server takes a report of 4 MiB, and JSON makes tabs and line ends longer."""
SECRET_WORDS = ("mw.token=",)


def collect(root: str = "") -> RawInventory:
    """Everything readable, and why the rest was not. `root` stands before every path: another machine's files, for tests."""
    files: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    room = MAX_ALL_BYTES
    for path, is_link in _paths(root):
        name = path.removeprefix(root)
        try:
            text = os.readlink(path) if is_link else _scrubbed(_read(path))
        except OSError as error:
            if not _is_expected(name, error):
                unreadable[name] = error.strerror or str(error)
            continue
        room -= len(name) + len(text)
        if room >= 0:
            files[name] = text
        else:
            room += len(name) + len(text)
            unreadable[name.rpartition("/")[0] or name] = "the inventory is too large to send"
    return RawInventory(files=files, unreadable=unreadable)


def _paths(root: str) -> Iterator[tuple[str, bool]]:
    """(path, whether its link target is the fact)."""
    for patterns, is_link in ((LINKS, True), (PATTERNS, False)):
        for pattern in patterns:
            for path in sorted(glob.glob(root + pattern)):
                yield path, is_link


def _is_expected(name: str, error: OSError) -> bool:
    """A network port that is down has no speed: the kernel says EINVAL, and that is no gap."""
    return name.startswith("/sys/class/net/") and name.endswith("/speed") and error.errno == errno.EINVAL


def _read(path: str) -> str:
    with open(path, "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, f"longer than {MAX_FILE_BYTES} bytes")
    return data.decode("utf-8", errors="replace")


def _scrubbed(text: str) -> str:
    """The kernel command line carries the boot token: it is never reported."""
    if not any(word in text for word in SECRET_WORDS):
        return text
    return " ".join(word for word in text.split() if not word.startswith(SECRET_WORDS))
