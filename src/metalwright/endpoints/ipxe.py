"""Boot decisions → iPXE scripts. Pure text."""

from dataclasses import dataclass
from typing import assert_never

from metalwright.model.boot import BootDecision, BootDisk, BootNothing, BootRam

RETRY_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BootAddresses:
    """Where machines find us, as they see it. `pin`: of the agent listener's certificate."""

    boot_url: str
    agent_url: str
    pin: str


def render(decision: BootDecision, addresses: BootAddresses, token: str) -> str:
    """The script for one machine now. Values are ours or hex: nothing a machine sent is put into a script."""
    match decision:
        case BootRam():
            return _ram(addresses, token)
        case BootDisk():
            return "#!ipxe\necho metalwright: to the disk\nexit 1\n"
        case BootNothing(why=why):
            return f"#!ipxe\necho metalwright: {why}\nsleep {RETRY_S}\nreboot\n"
        case _:
            assert_never(decision)


def _ram(addresses: BootAddresses, token: str) -> str:
    boot = addresses.boot_url.rstrip("/")
    arguments = (
        "initrd=initrd console=tty0 console=ttyS0,115200 quiet "
        f"mw.agent_url={addresses.agent_url} mw.pin={addresses.pin} mw.token={token} mw.images={boot}"
    )
    return (
        "#!ipxe\n"
        "echo metalwright: RAM disk\n"
        f"kernel {boot}/ramdisk/vmlinuz {arguments} BOOTIF=01-${{net0/mac:hexhyp}}\n"
        f"initrd --name initrd {boot}/ramdisk/initrd\n"
        "boot\n"
    )
