"""DHCP: who gets which address and which file."""

from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from metalwright.drivers.netboot.dhcp_plan import DhcpPlan, plan_dhcp
from metalwright.drivers.netboot.dnsmasq_config import DnsmasqFiles, render_dnsmasq, render_for_existing_dhcp
from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName, RackName
from metalwright.model.spec import BmcSecrets, NetbootSpec, NodeSpec, Secrets, SiteIdentity, SiteSpec


def node(index: int, **changes: str) -> NodeSpec:
    spec = NodeSpec(
        name=NodeName(f"n{index}"),
        rack=RackName("r1"),
        unit=index,
        profile="p",
        serial=f"S{index}",
        bmc=f"https://127.0.1.{index}",
        boot_mac=f"52:54:00:00:00:{index:02x}",
    )
    return replace(spec, **changes)  # type: ignore[arg-type]


def site(nodes: tuple[NodeSpec, ...], **netboot: str) -> SiteSpec:
    wanted = {"boot_url": "http://10.0.0.1:8480/", "interface": "br0", "range_start": "10.0.0.10", "range_end": "10.0.0.13"} | netboot
    return SiteSpec(
        metalwright=1,
        site=SiteIdentity(name="s"),
        racks=(),
        profiles={},
        nodes=nodes,
        secrets=Secrets(bmc=BmcSecrets(user="env:U", password="env:P")),
        netboot=NetbootSpec(dhcp="metalwright", **wanted),
    )


def render(plan: DhcpPlan) -> list[str]:
    return render_dnsmasq(plan, DnsmasqFiles(tftp_root=Path("/run/x/tftp"))).splitlines()


def test_each_node_has_its_address_in_order_of_the_spec() -> None:
    """The n-th node gets the n-th address of the range, every time."""
    plan = plan_dhcp(site((node(2), node(1))))
    assert [(host.node, host.address) for host in plan.hosts] == [("n2", IPv4Address("10.0.0.10")), ("n1", IPv4Address("10.0.0.11"))]


def test_only_nodes_of_the_spec_get_an_answer() -> None:
    """Every host line is a node's, and whoever has no host line is ignored."""
    lines = render(plan_dhcp(site((node(1), node(2)))))
    assert [line for line in lines if line.startswith("dhcp-host=")] == [
        "dhcp-host=52:54:00:00:00:01,set:node,10.0.0.10,n1,1h",
        "dhcp-host=52:54:00:00:00:02,set:node,10.0.0.11,n2,1h",
    ]
    assert "dhcp-ignore=tag:!node" in lines
    assert "dhcp-range=10.0.0.10,static,1h" in lines


def test_each_kind_of_firmware_gets_its_loader_and_ipxe_gets_the_script() -> None:
    """BIOS, UEFI and UEFI HTTP lead to iPXE; iPXE leads to the script of its MAC."""
    lines = render(plan_dhcp(site((node(1),))))
    assert [line for line in lines if line.startswith("dhcp-boot=")] == [
        "dhcp-boot=tag:!ipxe,tag:bios,undionly.kpxe",
        "dhcp-boot=tag:!ipxe,tag:efi,snponly.efi",
        "dhcp-boot=tag:!ipxe,tag:efihttp,http://10.0.0.1:8480/ipxe/snponly.efi",
        "dhcp-boot=tag:ipxe,http://10.0.0.1:8480/boot/${netX/mac:hexhyp}.ipxe",
    ]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (site(tuple(node(index) for index in range(1, 6))), "fewer addresses"),
        (site((node(1),), range_start="10.0.0.x"), "no IPv4 address"),
        (site((node(1),), interface=""), "interface"),
        (site((node(1),), interface="br0\nuser=root"), "cannot be used"),
        (site((node(1, boot_mac="52:54:00:00:00:01,set:evil"),)), "cannot be used"),
        (site((node(1, name="n1\nport=53"),)), "cannot be used"),
        (site((node(1),), boot_url="http://10.0.0.1/\ndhcp-script=/bin/sh"), "no plain http URL"),
        (site((node(1),), boot_url="file:///etc/passwd"), "no plain http URL"),
    ],
)
def test_what_cannot_be_a_configuration_is_refused(spec: SiteSpec, says: str) -> None:
    """A value of the spec never becomes a second configuration line."""
    with pytest.raises(InputError, match=says):
        plan_dhcp(spec)


def test_existing_servers_are_told_the_same() -> None:
    """The text for another DHCP server names the script, both loaders and the HTTP loader for all three servers."""
    text = render_for_existing_dhcp("http://10.0.0.1:8480", "10.0.0.1")
    for wanted in ("http://10.0.0.1:8480/boot/${netX/mac:hexhyp}.ipxe", "http://10.0.0.1:8480/ipxe/snponly.efi", "undionly.kpxe"):
        assert text.count(wanted) >= 4
