"""What ipmitool prints is read strictly: unknown stays unknown, placeholders are no serials, invalid flags are no override."""

import pytest

from metalwright.drivers.ipmi.parsing import boot_of, fru_of, power_of
from metalwright.drivers.ipmi.tool import address_of
from metalwright.model.errors import InputError
from metalwright.model.hardware import BootTarget, PowerState


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Chassis Power is on\n", PowerState.ON),
        ("Loading IANA PEN Registry...\nChassis Power is off\n", PowerState.OFF),
        ("", PowerState.UNKNOWN),
        ("Chassis Power is sulking", PowerState.UNKNOWN),
        ("the light is on", PowerState.UNKNOWN),
    ],
)
def test_power(text: str, state: PowerState) -> None:
    """Only the sentence itself counts."""
    assert power_of(text) is state


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        ("a004000000", (BootTarget.NETWORK, True)),
        ("e008000000", (BootTarget.DISK, False)),
        ("8014000000", (BootTarget.OTHER, True)),
        ("0004000000", (BootTarget.NONE, False)),
        ("8000000000", (BootTarget.NONE, False)),
        ("80", (BootTarget.NONE, False)),
        ("zz", (BootTarget.NONE, False)),
    ],
)
def test_boot_flags(data: str, seen: tuple[BootTarget, bool]) -> None:
    """Flags count when the BMC marks them valid (IPMI 2.0, table 28-14)."""
    assert boot_of(f"Boot parameter 5 is valid/unlocked\nBoot parameter data: {data}\n Boot Flags :\n") == seen


def test_fru_placeholders_are_nothing() -> None:
    """A serial that was never programmed is no serial."""
    text = " Product Serial        : SN-1  \n Board Serial : 00000000\n Product Name : Default string\n Board Mfg Date : Mon 1:02\n"
    assert fru_of(text) == {"Product Serial": "SN-1", "Board Mfg Date": "Mon 1:02"}


@pytest.mark.parametrize("url", ["https://10.0.0.1", "ipmi://", "ipmi://u:p@10.0.0.1", "ipmi://10.0.0.1:999999"])
def test_urls(url: str) -> None:
    """Only ipmi://host[:port], without an account."""
    with pytest.raises(InputError) as caught:
        address_of(url)
    assert "u:p" not in str(caught.value)
