"""The machine under the agent's own feet: what Linux says of it, and its NVMe disks. Implements `ports.BootedMachine`."""

import fcntl
import os
import struct
import subprocess
from collections.abc import Mapping

from metalwright.agent.collect import collect
from metalwright.model.agent_messages import RawInventory

BLKGETSIZE64 = 0x80081272
UNPACK_S = 60.0


class LinuxDisk:
    """A block device opened for itself alone; reads come from the medium, not from the page cache."""

    def __init__(self, path: str, *, exclusive: bool) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0))
        self.size_bytes = int(struct.unpack("Q", fcntl.ioctl(self._fd, BLKGETSIZE64, bytes(8)))[0])

    def write(self, offset: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._fd, view, offset)
            offset, view = offset + written, view[written:]

    def read(self, offset: int, length: int) -> bytes:
        os.posix_fadvise(self._fd, offset, length, os.POSIX_FADV_DONTNEED)
        parts = []
        while length > 0 and (part := os.pread(self._fd, min(length, 8 << 20), offset)):
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return b"".join(parts)

    def flush(self) -> None:
        os.fsync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


class LinuxMachine:
    """This machine."""

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
        found = [device for device, seen in disks().items() if seen == serial.strip()]
        if len(found) != 1:
            raise KeyError(serial)
        return LinuxDisk(f"/dev/{found[0]}", exclusive=serial != self._root_disk_serial)

    def decompress(self, stored: bytes, length: int) -> bytes:
        """By the zstd program: this Python has no such module. ValueError for anything that does not give `length` bytes at most."""
        try:
            done = subprocess.run(("zstd", "-d", "-c", "-q"), input=stored, capture_output=True, timeout=UNPACK_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ValueError(f"zstd: {error}") from error
        if done.returncode != 0 or len(done.stdout) > length:
            raise ValueError(f"zstd: exit {done.returncode}, {len(done.stdout)} bytes {done.stderr[:200].decode(errors='replace')}")
        return done.stdout


def disks() -> Mapping[str, str]:
    """Device name → serial of every NVMe namespace, and of every other whole disk that shows a serial."""
    found = {}
    for device in sorted(os.listdir("/sys/block")):
        for path in (f"/sys/block/{device}/device/serial", f"/sys/block/{device}/serial"):
            if serial := _text(path):
                found[device] = serial
                break
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return ""
