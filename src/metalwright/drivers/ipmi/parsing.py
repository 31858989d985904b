"""What ipmitool prints → values. Pure."""

from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.placeholders import known

_VALID, _PERSISTENT = 0x80, 0x40
_SELECTORS = {0x04: BootTarget.NETWORK, 0x08: BootTarget.DISK}
_SELECTOR_MASK = 0x3C


def power_of(text: str) -> PowerState:
    """`Chassis Power is on` → on."""
    for line in text.lower().splitlines():
        if line.strip().startswith("chassis power is "):
            return {"on": PowerState.ON, "off": PowerState.OFF}.get(line.split()[-1], PowerState.UNKNOWN)
    return PowerState.UNKNOWN


def boot_of(text: str) -> tuple[BootTarget, bool]:
    """Boot flags (parameter 5, IPMI 2.0 table 28-14): (target, once). NONE unless the BMC marks them valid."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Boot parameter data":
            return _flags(value.strip())
    return BootTarget.NONE, False


def _flags(data: str) -> tuple[BootTarget, bool]:
    try:
        octets = bytes.fromhex(data)
    except ValueError:
        return BootTarget.NONE, False
    if len(octets) < 2 or not octets[0] & _VALID or not octets[1] & _SELECTOR_MASK:
        return BootTarget.NONE, False
    target = _SELECTORS.get(octets[1] & _SELECTOR_MASK, BootTarget.OTHER)
    return target, not octets[0] & _PERSISTENT


def sol_is_enabled(text: str) -> bool:
    """`sol info` → whether serial over LAN is on."""
    pairs = (line.partition(":") for line in text.lower().splitlines())
    return any(name.strip() == "enabled" and value.strip() == "true" for name, _, value in pairs)


def fru_of(text: str) -> dict[str, str]:
    """Fields of `fru print 0`, placeholders left out: `Product Serial`, `Product Manufacturer`, `Board Serial` …"""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, mark, value = line.partition(":")
        said = known(value)
        if mark and said is not None:
            found.setdefault(name.strip(), said)
    return found
