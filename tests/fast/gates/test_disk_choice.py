"""Which disk gets the system."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.gates.disk_choice import choose_system_disk
from metalwright.model.hardware import Drive
from metalwright.model.spec import DiskLayout
from tests.fast.gates.cases import SYSTEM_DISK, agent_facts


def _choose(rule: str, *drives: Drive) -> Drive | str:
    facts = replace(agent_facts(), drives=drives) if drives else agent_facts()
    return choose_system_disk(facts, DiskLayout(system=rule))


@pytest.mark.parametrize(
    ("rule", "serial"),
    [("smallest-nvme", SYSTEM_DISK), ("nvme:m2-0", SYSTEM_DISK), ("nvme:3", "DATA0003"), ("serial:data0005", "DATA0005")],
)
def test_each_rule_names_one_disk(rule: str, serial: str) -> None:
    """Smallest, by slot, by serial."""
    disk = _choose(rule)
    assert isinstance(disk, Drive)
    assert disk.serial == serial


@pytest.mark.parametrize("rule", ["nvme:99", "serial:NO1", "largest", "nvme:", "serial:", ""])
def test_a_rule_that_fits_no_disk_is_a_text(rule: str) -> None:
    """No disk is ever chosen by accident."""
    assert isinstance(_choose(rule), str)


def test_a_disk_without_identity_is_never_chosen() -> None:
    """No serial, a placeholder, an unknown size, or one serial twice: a text."""
    small = Drive(name="nvme9n1", serial=None, size_bytes=10**9, protocol="NVMe", slot="9")
    for serial in (None, "N/A", "0000000000"):
        assert isinstance(_choose("nvme:9", *agent_facts().drives, replace(small, serial=serial)), str)
        assert isinstance(_choose("smallest-nvme", *agent_facts().drives, replace(small, serial=serial)), str)
    assert isinstance(_choose("smallest-nvme", *agent_facts().drives, replace(small, serial="S9", size_bytes=None)), str)
    twins = (replace(small, serial="S9"), replace(small, serial="s9 ", name="nvme10n1"))
    assert isinstance(_choose("smallest-nvme", *twins), str)
    assert isinstance(_choose("serial:S9", *twins), str)


def test_only_nvme_counts() -> None:
    """A smaller SATA or USB disk is not the smallest NVMe."""
    sata = Drive(name="sda", serial="SATA1", size_bytes=10**9, protocol="SATA", device="sda")
    disk = _choose("smallest-nvme", sata, *agent_facts().drives)
    assert isinstance(disk, Drive)
    assert disk.serial == SYSTEM_DISK
    assert isinstance(_choose("smallest-nvme", sata), str)


@given(st.permutations(range(9)))
def test_the_order_of_drives_does_not_matter(order: list[int]) -> None:
    """Equal sizes are told apart by serial, so that every look chooses the same disk."""
    drives = [replace(drive, size_bytes=10**12) for drive in agent_facts().drives]
    disk = _choose("smallest-nvme", *(drives[n] for n in order))
    assert isinstance(disk, Drive)
    assert disk.serial == SYSTEM_DISK
