"""The truth of a simulated site: made from the spec and the seed, the same every time."""

import re
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.agent.collect import LINKS, PATTERNS
from metalwright.model.agent_messages import RawInventory
from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.model.spec import HardwareProfile, PurchaseLine, StoredSpec
from metalwright.readers.sysfs import hardware_from_raw
from metalwright.simulator import hgx_shape, linux_view
from metalwright.simulator.faults import FAULTS
from metalwright.simulator.world import World
from tests.fast.simulator.simulated_sites import H100, SMALL, make_site

SEEDS = st.integers(min_value=0, max_value=2**63)


@st.composite
def profiles(draw: st.DrawFn) -> HardwareProfile:
    """Any shape a profile may have, from a bare server to more than any board holds."""
    return replace(
        H100,
        gpus=draw(st.integers(0, 16)),
        nvswitches=draw(st.integers(0, 9)),
        nvlinks_per_gpu=draw(st.integers(0, 18)),
        cpus=draw(st.integers(1, 4)),
        memory_gib=draw(st.integers(1, 8192)),
        nics=draw(st.integers(0, 12)),
        nvme=draw(st.integers(0, 24)),
        nvme_each_tb=draw(st.sampled_from([0.48, 1.92, 3.84, 30.72])),
        max_watts=draw(st.integers(300, 15000)),
    )


@settings(deadline=None, max_examples=60)
@given(seed=SEEDS, profile=profiles())
def test_the_same_seed_makes_the_same_site(seed: int, profile: HardwareProfile) -> None:
    """Two worlds of one spec and one seed are equal in every part and in every file that Linux shows."""
    stored = make_site(2, profile=profile)
    first, second = World(stored, seed), World(stored, seed)
    for name in first.names():
        assert first.parts(name) == second.parts(name)
        assert linux_view.files(first.parts(name)) == linux_view.files(second.parts(name))


@settings(deadline=None, max_examples=60)
@given(seed=SEEDS, profile=profiles())
def test_a_world_has_what_the_profile_says(seed: int, profile: HardwareProfile) -> None:
    """Counts are the profile's, memory is enough, and no serial, MAC or PCI address is used twice in a site."""
    world = World(make_site(2, profile=profile), seed)
    serials: list[str | None] = []
    for name in world.names():
        parts = world.parts(name)
        assert (len(parts.gpus), len(parts.nvswitches), len(parts.cpus)) == (profile.gpus, profile.nvswitches, profile.cpus)
        assert (len([nic for nic in parts.nics if nic.rdma]), len(parts.drives)) == (profile.nics, profile.nvme)
        assert len(parts.nvlinks) == profile.gpus * profile.nvlinks_per_gpu
        assert parts.memory_mib() >= profile.memory_gib * 1024
        with_serial = (*parts.gpus, *parts.nvswitches, *parts.nics, *parts.drives, *parts.dimms, *parts.cpus, *parts.psus)
        serials += [part.serial for part in with_serial] + [parts.identity.system_serial, parts.identity.board_serial]
        addresses = [part.address for part in (*parts.gpus, *parts.nvswitches, *parts.nics)]
        addresses += [hgx_shape.drive_address(index) for index in range(profile.nvme)]
        assert len(addresses) == len(set(addresses))
    assert len(serials) == len(set(serials))
    macs = [mac for name in world.names() for nic in world.parts(name).nics for mac in nic.macs]
    assert len(macs) == len(set(macs))


@settings(deadline=None, max_examples=60)
@given(gpus=st.integers(0, 16), switches=st.integers(1, 9), per_gpu=st.integers(0, 36))
def test_nvlinks_use_each_switch_port_once(gpus: int, switches: int, per_gpu: int) -> None:
    """Every GPU port has one peer, no switch port has two, and the load on the switches differs by at most one link per GPU."""
    links = hgx_shape.nvlinks(gpus, switches, per_gpu, 212.496)
    peers = [link.peer for link in links]
    assert len(peers) == len(set(peers))
    loads = [sum((peer or "").startswith(f"NVSwitch_{switch}:") for peer in peers) for switch in range(switches)]
    assert max(loads) - min(loads) <= gpus


def test_an_h100_board_is_wired_4_5_5_4() -> None:
    """The spread of 18 links over four switches is that of a real HGX H100."""
    links = [link for link in hgx_shape.nvlinks(8, 4, 18, 212.496) if link.gpu == 3]
    assert [sum((link.peer or "").startswith(f"NVSwitch_{switch}:") for link in links) for switch in range(4)] == [4, 5, 5, 4]


def test_other_seeds_make_other_serials() -> None:
    """The seed matters where the spec is silent, and only there."""
    stored = make_site(1)
    one, two = (World(stored, seed).parts(NodeName("n1")) for seed in (1, 2))
    assert one.identity.system_serial == two.identity.system_serial == "SN000001"
    assert {gpu.serial for gpu in one.gpus}.isdisjoint({gpu.serial for gpu in two.gpus})


def test_the_purchase_list_wins() -> None:
    """Serials and part numbers of the list are in the server, in its order; by kind where it says, by words where it does not."""
    lines = (
        PurchaseLine(part="HGX-H100-8", serial="SN000001", line=1),
        PurchaseLine(part="H100 SXM5 80GB", serial="G1", node_serial="SN000001", line=2),
        PurchaseLine(part="935-1", serial="G2", node_serial="SN000001", kind="gpu", line=3),
        PurchaseLine(part="NVMe 3.84", serial="D1", node_serial="SN000001", line=4),
        PurchaseLine(part="ConnectX-7", serial="N1", node_serial="SN000001", line=5),
        PurchaseLine(part="935-1", serial="OTHER", node_serial="SN000002", kind="gpu", line=6),
        PurchaseLine(part="cable", quantity=8, line=7),
    )
    parts = World(make_site(2, purchase=lines), 1).parts(NodeName("n1"))
    assert [gpu.serial for gpu in parts.gpus[:2]] == ["G1", "G2"]
    assert parts.gpus[1].part_number == "935-1"
    assert (parts.drives[0].serial, parts.nics[0].serial, parts.part_number) == ("D1", "N1", "HGX-H100-8")
    assert "OTHER" not in {gpu.serial for gpu in parts.gpus}


def test_unknown_names_are_refused() -> None:
    """A node or a profile that the spec does not know is the operator's error, with a hint."""
    stored = make_site(1)
    with pytest.raises(InputError, match="no node n9"):
        World(stored, 1).node(NodeName("n9"))
    with pytest.raises(InputError, match="profile compute"):
        World(StoredSpec(digest=stored.digest, spec=stored.spec, profiles={}), 1).parts(NodeName("n1"))


@pytest.mark.parametrize("name", sorted(name for name, fault in FAULTS.items() if fault.world))
def test_a_world_fault_changes_something(name: str) -> None:
    """No fault of the truth is without effect on the server it is injected into."""
    fault = FAULTS[name]
    intact = World(make_site(1, profile=SMALL), 7).parts(NodeName("n1"))
    assert fault.world is not None
    assert fault.world(intact, fault.arguments({})) != intact


def test_linux_shows_the_links_of_a_gpu() -> None:
    """PCI functions have the ids, class and link texts that a real kernel gives."""
    parts = World(make_site(1), 7).parts(NodeName("n1"))
    files = linux_view.files(parts)
    base = f"/sys/bus/pci/devices/{parts.gpus[0].address}"
    seen = [files[f"{base}/{name}"] for name in ("vendor", "device", "class", "max_link_speed", "current_link_width")]
    assert seen == ["0x10de\n", "0x2330\n", "0x030200\n", "32.0 GT/s PCIe\n", "16\n"]
    assert re.search(r"MemTotal: +\d+ kB", files["/proc/meminfo"])
    assert not any("token" in text for text in files.values())


def test_linux_shows_exactly_what_the_agent_collects() -> None:
    """Every path is one that the real agent reads, and of everything it reads that makes facts there is at least one."""
    shown = linux_view.files(World(make_site(1), 7).parts(NodeName("n1")))
    wanted = (*PATTERNS, *LINKS)
    assert [path for path in shown if not any(fnmatchcase(path, pattern) for pattern in wanted)] == []
    assert [pattern for pattern in wanted if not any(fnmatchcase(path, pattern) for path in shown)] == []


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, profile=profiles())
def test_both_witnesses_see_the_same_machine(seed: int, profile: HardwareProfile) -> None:
    """What the server reads out of the agent's files is what the world is made of."""
    parts = World(make_site(1, profile=profile), seed).parts(NodeName("n1"))
    facts = hardware_from_raw(RawInventory(files=linux_view.files(parts)))
    assert facts.identity.system_serial == parts.identity.system_serial
    assert facts.identity.uuid == parts.identity.uuid
    assert [(cpu.model, cpu.cores) for cpu in facts.cpus] == [(cpu.model, cpu.cores) for cpu in parts.cpus]
    assert {gpu.address: (gpu.pcie, gpu.numa_node) for gpu in facts.gpus} == {gpu.address: (gpu.pcie, gpu.numa_node) for gpu in parts.gpus}
    assert len(facts.nvswitches) == len(parts.nvswitches)
    assert {(nic.macs, nic.rdma, nic.rate_gbps) for nic in facts.nics} == {(nic.macs, nic.rdma, nic.rate_gbps) for nic in parts.nics}
    assert {(drive.serial, drive.size_bytes, drive.device) for drive in facts.drives} == {
        (drive.serial, drive.size_bytes, drive.device) for drive in parts.drives
    }
    assert (facts.tpm, facts.bios_version, facts.gaps) == ("2.0", parts.bios_version, ())
