"""Entry of the installed system: `python3 -I -S -m metalwright.agent.installed`. Arguments lie in the root disk's node-data slot."""

import asyncio
import os
import re
import socket
import sys

from metalwright.agent.core import Agent
from metalwright.agent.disk_content import read_slot
from metalwright.agent.linux import LinuxMachine, disks
from metalwright.agent.main import say
from metalwright.model import node_data
from metalwright.model.agent_messages import BootArguments


def root_disk(mounts: str, device_numbers: "dict[str, str]") -> str:
    """The whole disk that `/` lies on (`nvme0n1`), from /proc/self/mountinfo and disk → "major:minor" of its partitions."""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 4 and fields[4] == "/":
            return device_numbers.get(fields[2], "")
    return ""


def _device_numbers() -> dict[str, str]:
    """ "major:minor" of each partition and disk → its whole disk."""
    found = {}
    for disk in os.listdir("/sys/block"):
        for name in [disk, *(entry for entry in os.listdir(f"/sys/block/{disk}") if re.match(rf"{re.escape(disk)}p?\d+$", entry))]:
            path = f"/sys/block/{disk}/dev" if name == disk else f"/sys/block/{disk}/{name}/dev"
            with open(path, encoding="ascii") as file:
                found[file.read().strip()] = disk
    return found


def slot_of(machine: LinuxMachine, serial: str) -> node_data.NodeData | None:
    """The node-data slot of a disk; None when it holds nothing or cannot be read."""
    try:
        disk = machine.open_disk(serial)
        try:
            return read_slot(disk)
        finally:
            disk.close()
    except (KeyError, OSError) as error:
        say(f"root disk {serial}: {error}")
        return None


def main() -> int:
    """Runs as a service; returns 1 when this system was not installed by metalwright or its boot is refused."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        device = root_disk(file.read(), _device_numbers())
    serial = disks().get(device, "")
    machine = LinuxMachine(root_disk_serial=serial)
    slot = slot_of(machine, serial) if serial else None
    if slot is None:
        say(f"no node data on root disk {device or '?'} {serial}")
        return 1
    socket.sethostname(slot.node)
    say(f"started on {slot.node}, root disk {serial}")
    arguments = BootArguments(agent_url=slot.agent_url, pin=slot.pin, token=slot.token, images_url=slot.images_url, stage="installed")
    asyncio.run(Agent(say).run(machine, arguments))
    return 1


if __name__ == "__main__":
    sys.exit(main())
