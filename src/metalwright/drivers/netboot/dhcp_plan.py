"""Which machine gets which address on the provisioning network. Pure: the same spec gives the same addresses.

Only nodes of the spec get an answer. The n-th node of the spec gets the n-th address of the range, so a node that is taken out in the
middle moves those after it; `dhcp: external` is for sites that already assign addresses.
"""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from urllib.parse import urlsplit

from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.model.spec import SiteSpec

MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DhcpHost:
    """One node's line: lower-case MAC with colons, the address it gets, its host name."""

    node: NodeName
    mac: str
    address: IPv4Address


@dataclass(frozen=True, slots=True, kw_only=True)
class DhcpPlan:
    """Everything a DHCP server has to know. `boot_url` has no trailing slash."""

    interface: str
    range_start: IPv4Address
    hosts: tuple[DhcpHost, ...]
    boot_url: str


def plan_dhcp(spec: SiteSpec) -> DhcpPlan:
    """InputError: no interface or range, a range too small, or a value that must not reach a configuration file."""
    netboot = spec.netboot
    if not netboot.interface or not netboot.range_start or not netboot.range_end:
        raise InputError("netboot: running DHCP needs interface, range_start and range_end", hint="set them under `netboot:` in site.yaml")
    first, last = _address(netboot.range_start, "range_start"), _address(netboot.range_end, "range_end")
    if int(last) - int(first) + 1 < len(spec.nodes):
        raise InputError(f"netboot: {first} to {last} has fewer addresses than there are nodes ({len(spec.nodes)})", hint="widen the range")
    hosts = tuple(
        DhcpHost(node=node.name, mac=_matched(MAC, node.boot_mac.lower(), f"{node.name}: boot_mac"), address=first + index)
        for index, node in enumerate(spec.nodes)
    )
    for host in hosts:
        _matched(NAME, host.node, "node name")
    interface = _matched(INTERFACE, netboot.interface, "netboot: interface")
    return DhcpPlan(interface=interface, range_start=first, hosts=hosts, boot_url=checked_boot_url(netboot.boot_url))


def checked_boot_url(url: str) -> str:
    """A plain http(s) URL with nothing that a configuration file or iPXE would read as its own syntax."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not re.fullmatch(r"[A-Za-z0-9.:/_\[\]-]+", url):
        raise InputError(f"netboot: boot_url {url!r} is no plain http URL", hint="write it like http://10.20.0.1:8480")
    return url.rstrip("/")


def _address(text: str, what: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except AddressValueError as wrong:
        raise InputError(f"netboot: {what} {text!r} is no IPv4 address") from wrong


def _matched(pattern: re.Pattern[str], text: str, what: str) -> str:
    if not pattern.fullmatch(text):
        raise InputError(f"{what}: {text!r} cannot be used in a DHCP configuration")
    return text
