"""The provisioning network of a lab: one namespace with a bridge, one tap per machine. Nothing of it touches the host's network.

The endpoints, dnsmasq, the BMCs and QEMU all run inside the namespace; `lab exec` or `ip netns exec` takes a command there.
"""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from metalwright.drivers.debian.tree import run_tool
from metalwright.model.errors import InputError

BRIDGE = "br0"
ADDRESS = "10.77.0.1"
PREFIX = 24
IPV6 = "fd77::1/64"
"""Debian's iPXE waits 17 s for a router advertisement, and dnsmasq only advertises where there is an IPv6 address."""

NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000


def create_network(namespace: str, taps: Sequence[str]) -> None:
    """Make namespace, bridge and taps; needs root."""
    if os.geteuid() != 0:
        raise InputError("the lab makes a network namespace", hint="run as root")
    _ip("netns", "add", namespace)
    inside = ("-n", namespace)
    _ip(*inside, "link", "set", "lo", "up")
    _ip(*inside, "link", "add", BRIDGE, "type", "bridge", "stp_state", "0", "forward_delay", "0")
    _ip(*inside, "addr", "add", f"{ADDRESS}/{PREFIX}", "dev", BRIDGE)
    _ip(*inside, "addr", "add", IPV6, "dev", BRIDGE, "nodad")
    _ip(*inside, "link", "set", BRIDGE, "up")
    for tap in taps:
        _ip(*inside, "tuntap", "add", "dev", tap, "mode", "tap")
        _ip(*inside, "link", "set", tap, "master", BRIDGE, "up")


def remove_network(namespace: str) -> None:
    """Taps and bridge go with the namespace once its last process has ended. Nothing to remove is fine."""
    if (NAMESPACES / namespace).exists():
        _ip("netns", "del", namespace)


def enter_network(namespace: str | Path) -> None:
    """Move this thread there (setns(2)): a name, or the path of a namespace. Call it before other threads or sockets exist."""
    libc = ctypes.CDLL(None, use_errno=True)
    opened = os.open(NAMESPACES / namespace, os.O_RDONLY)
    try:
        if libc.setns(opened, CLONE_NEWNET) != 0:
            raise InputError(f"cannot enter the network namespace {namespace}: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(opened)


def _ip(*arguments: str) -> None:
    run_tool(["ip", *arguments], timeout_s=20)
