"""The DHCP and TFTP configuration, as text. Pure.

Two stages: firmware gets iPXE for its kind (option 93, RFC 4578 section 2.1; IANA "Processor Architecture Types"), then iPXE, known by its
encapsulated option 175 (ipxe.org/howto/dhcpd), gets the URL of its machine's script. Machines that are not in the plan get no answer.
"""

from dataclasses import dataclass
from pathlib import Path

from metalwright.drivers.netboot.dhcp_plan import DhcpPlan, checked_boot_url

BIOS_LOADER = "undionly.kpxe"
UEFI_LOADER = "snponly.efi"
SCRIPT_PATH = "/boot/${netX/mac:hexhyp}.ipxe"
"""iPXE fills in the MAC of the interface it booted from (`netX`), with hyphens."""

ARCHITECTURES = (("bios", 0), ("efi", 7), ("efi", 9), ("efihttp", 16))
"""Tag → option 93: 0 BIOS; 7 x64 UEFI and 9 its alias in the field; 16 x64 UEFI HTTP boot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsmasqFiles:
    """Folders of one dnsmasq: `tftp_root` holds the iPXE loaders, readable by anyone."""

    tftp_root: Path


def render_dnsmasq(plan: DhcpPlan, files: DnsmasqFiles) -> str:
    """dnsmasq(8) configuration: DHCP and TFTP on one interface, no DNS."""
    lines = [
        "port=0",
        f"interface={plan.interface}",
        "except-interface=lo",
        "bind-interfaces",
        "log-dhcp",
        "no-ping",  # addresses are static: asking first costs 3 s per boot
        "dhcp-authoritative",
        "leasefile-ro",  # nothing to remember: every lease is in this file
        f"dhcp-range={plan.range_start},static,1h",
        "dhcp-ignore=tag:!node",
        "dhcp-option=option:router",  # empty: this server is no router
        "dhcp-option=option:dns-server",
        *_boot_lines(plan, files),
        # Debian's iPXE waits 17 s for a router advertisement; one that offers no route ends the wait.
        "enable-ra",
        f"ra-param={plan.interface},10,0",
        f"dhcp-range=::,constructor:{plan.interface},ra-only",
        *(f"dhcp-host={host.mac},set:node,{host.address},{host.node},1h" for host in plan.hosts),
    ]
    return "\n".join(lines) + "\n"


def _boot_lines(plan: DhcpPlan, files: DnsmasqFiles) -> list[str]:
    return [
        f"enable-tftp={plan.interface}",
        f"tftp-root={files.tftp_root}",
        *(f"dhcp-match=set:{tag},option:client-arch,{number}" for tag, number in ARCHITECTURES),
        "dhcp-match=set:ipxe,175",
        f"dhcp-boot=tag:!ipxe,tag:bios,{BIOS_LOADER}",
        f"dhcp-boot=tag:!ipxe,tag:efi,{UEFI_LOADER}",
        f"dhcp-boot=tag:!ipxe,tag:efihttp,{plan.boot_url}/ipxe/{UEFI_LOADER}",
        "dhcp-option-force=tag:!ipxe,tag:efihttp,60,HTTPClient",  # UEFI 2.10, 24.7.3.1: firmware takes no other answer
        f"dhcp-boot=tag:ipxe,{plan.boot_url}{SCRIPT_PATH}",
        "dhcp-option=tag:ipxe,encap:175,176,1b",  # iPXE: do not wait for a proxy DHCP server
    ]


def render_for_existing_dhcp(boot_url: str, tftp_server: str) -> str:
    """What to put into a DHCP server that is already there: ISC dhcpd, Kea and dnsmasq, one after the other."""
    script = f"{checked_boot_url(boot_url)}{SCRIPT_PATH}"
    http_loader = f"{checked_boot_url(boot_url)}/ipxe/{UEFI_LOADER}"
    return EXISTING_DHCP.format(script=script, tftp=tftp_server, bios=BIOS_LOADER, efi=UEFI_LOADER, http_loader=http_loader)


EXISTING_DHCP = """\
# The provisioning network must do two things:
#   1. firmware gets iPXE: {bios} (BIOS) or {efi} (UEFI) by TFTP from {tftp}, or {http_loader} (UEFI HTTP boot)
#   2. iPXE (it sends option 175) gets {script}
# Both loaders are in the Debian and Ubuntu package "ipxe" (/usr/lib/ipxe). Give addresses to known machines only.

# --- ISC dhcpd (dhcpd.conf, inside the subnet) ---
option architecture code 93 = unsigned integer 16;
if exists user-class and option user-class = "iPXE" {{
    filename "{script}";
}} elsif option architecture = 00:10 {{
    option vendor-class-identifier "HTTPClient";
    filename "{http_loader}";
}} elsif option architecture = 00:07 or option architecture = 00:09 {{
    next-server {tftp};
    filename "{efi}";
}} else {{
    next-server {tftp};
    filename "{bios}";
}}

# --- Kea (Dhcp4, "client-classes") ---
# {{ "name": "ipxe", "test": "option[77].hex == 'iPXE'", "boot-file-name": "{script}" }},
# {{ "name": "uefi-http", "test": "not member('ipxe') and option[93].hex == 0x0010", "boot-file-name": "{http_loader}",
#   "option-data": [ {{ "name": "vendor-class-identifier", "data": "HTTPClient" }} ] }},
# {{ "name": "uefi", "test": "not member('ipxe') and (option[93].hex == 0x0007 or option[93].hex == 0x0009)",
#   "next-server": "{tftp}", "boot-file-name": "{efi}" }},
# {{ "name": "bios", "test": "not member('ipxe') and option[93].hex == 0x0000", "next-server": "{tftp}", "boot-file-name": "{bios}" }}

# --- dnsmasq ---
# dhcp-match=set:ipxe,175
# dhcp-match=set:bios,option:client-arch,0
# dhcp-match=set:efi,option:client-arch,7
# dhcp-match=set:efi,option:client-arch,9
# dhcp-match=set:efihttp,option:client-arch,16
# dhcp-boot=tag:!ipxe,tag:bios,{bios},,{tftp}
# dhcp-boot=tag:!ipxe,tag:efi,{efi},,{tftp}
# dhcp-boot=tag:!ipxe,tag:efihttp,{http_loader}
# dhcp-option-force=tag:!ipxe,tag:efihttp,60,HTTPClient
# dhcp-boot=tag:ipxe,{script}
"""
