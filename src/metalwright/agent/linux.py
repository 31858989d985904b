"""The machine under the agent's own feet: what Linux says of it, and its disks. Implements `ports.BootedMachine`."""

import os
import re
from collections.abc import Mapping

from metalwright.agent.collect import collect
from metalwright.agent.linux_disk import LinuxDisk
from metalwright.agent.zstd import unpack
from metalwright.model.agent_messages import RawInventory

NOT_A_DISK = re.compile(r"nvme\d+c\d+n\d+|(loop|ram|zram|dm-|md|sr|nbd)\d+")
"""In /sys/block without a device to open, or no disk of its own: hidden paths of a multipath NVMe namespace, and what lies over disks."""
SERIALS = ("device/serial", "serial", "device/vpd_pg80")
"""NVMe, virtio, SCSI and SATA (the page has 4 bytes of header: SPC-4, 7.8.14)."""


class LinuxMachine:
    """This machine. `root_disk_serial`: of the disk it runs from, empty in the RAM disk."""

    def __init__(self, *, root_disk_serial: str = "") -> None:
        self._root_disk_serial = root_disk_serial

    def describe(self) -> Mapping[str, str]:
        release = os.uname()
        return {
            "boot_id": _text("/proc/sys/kernel/random/boot_id"),
            "system_serial": _text("/sys/class/dmi/id/product_serial"),
            "uuid": _text("/sys/class/dmi/id/product_uuid"),
            "kernel": release.release,
            "hostname": release.nodename,
            "root_disk_serial": self._root_disk_serial,
        }

    def collect(self) -> RawInventory:
        return collect()

    def open_disk(self, serial: str) -> LinuxDisk:
        """KeyError unless exactly one disk shows that serial. The running root disk is shared with its mounts, others are not."""
        wanted = serial.strip()
        found = [device for device, seen in disks().items() if seen == wanted]
        if not wanted or len(found) != 1:
            raise KeyError(serial)
        return LinuxDisk(f"/dev/{found[0]}", exclusive=wanted != self._root_disk_serial)

    def decompress(self, stored: bytes, length: int) -> bytes:
        return unpack(stored, length)


def disks(block: str = "/sys/block") -> Mapping[str, str]:
    """Device name → serial of every whole disk that shows one."""
    found = {}
    for device in sorted(os.listdir(block)):
        if not NOT_A_DISK.fullmatch(device):
            for path in SERIALS:
                serial = _text(f"{block}/{device}/{path}")
                if serial:
                    found[device] = serial
                    break
    return found


def _text(path: str) -> str:
    """Without blanks and what is not printable around it; empty when it cannot be read."""
    try:
        with open(path, "rb") as file:
            raw = file.read(4096)
    except OSError:
        return ""
    if path.endswith("vpd_pg80"):
        raw = raw[4:]
    return raw.decode("utf-8", errors="replace").strip(" \t\r\n\0")
