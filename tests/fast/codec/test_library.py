"""The library of hardware profiles, and what a site's own numbers make of it."""

from pathlib import Path

import pytest

from metalwright.codec.library import effective_profiles, profiles
from metalwright.codec.site_folder import read_site
from metalwright.model.spec import NicSpec, NvmeSpec, ProfileSpec
from tests.fast.codec.small_site import SITE, write_site


def test_every_profile_names_its_source() -> None:
    """A number without source and date judges nobody's hardware."""
    assert set(profiles()) == {"hgx-h100-8", "hgx-h200-8", "hgx-b200-8", "gb200-nvl72-tray", "mi300x-8", "virtual-gpu-0"}
    for profile in profiles().values():
        assert len(profile.source) > 40
        assert profile.date.startswith("20")
        assert profile.version >= 1


@pytest.mark.parametrize(
    ("name", "gpus", "memory_mib", "gbytes_per_s", "watts_per_gpu"),
    [
        ("hgx-h100-8", 8, 81559, 26.562, 700),
        ("hgx-h200-8", 8, 143771, 26.562, 700),
        ("hgx-b200-8", 8, 183359, 53.125, 1000),
        ("gb200-nvl72-tray", 4, 189471, 53.125, 1200),
    ],
)
def test_profiles_agree_with_what_systems_show(name: str, gpus: int, memory_mib: int, gbytes_per_s: float, watts_per_gpu: int) -> None:
    """Counts and rates as nvidia-smi shows them on such systems; a server draws more than its GPUs."""
    profile = profiles()[name]
    assert (profile.gpus, profile.gpu_memory_mib, profile.nvlinks_per_gpu) == (gpus, memory_mib, 18)
    assert profile.nvlink_gbps == pytest.approx(gbytes_per_s * 8)
    assert profile.max_watts > gpus * watts_per_gpu


def test_overrides_win_and_leave_a_trail() -> None:
    """Each number of the site that differs replaces the library's and is told; equal numbers are no override."""
    spec = ProfileSpec(
        base="hgx-h100-8",
        gpus=8,
        memory_gib=1024,
        nics=NicSpec(count=8, rate_gbps=200),
        nvme=NvmeSpec(count=4, each_tb=7.68),
        host_pcie_generation=4,
    )
    effective, trail = effective_profiles({"compute": spec})
    profile = effective["compute"]
    assert (profile.memory_gib, profile.nic_rate_gbps, profile.nvme, profile.gpu_pcie_generation, profile.gpus) == (1024, 200, 4, 4, 8)
    assert trail == (
        "profile compute: memory_gib 2048 → 1024 (site.yaml)",
        "profile compute: nic_rate_gbps 400 → 200 (site.yaml)",
        "profile compute: nvme 8 → 4 (site.yaml)",
        "profile compute: nvme_each_tb 3.84 → 7.68 (site.yaml)",
        "profile compute: gpu_pcie_generation 5 → 4 (site.yaml)",
    )
    assert profiles()["hgx-h100-8"].memory_gib == 2048


def test_a_faster_host_makes_no_faster_gpu() -> None:
    """The slower side decides the link: a generation-6 host holds a generation-5 GPU at 5, which is no override."""
    effective, trail = effective_profiles({"compute": ProfileSpec(base="hgx-h100-8", host_pcie_generation=6)})
    assert effective["compute"].gpu_pcie_generation == 5
    assert trail == ()


def test_the_override_reaches_the_stored_spec(tmp_path: Path) -> None:
    """What site.yaml says about a profile is what the gates judge by."""
    stored = read_site(write_site(tmp_path, {"site.yaml": SITE.replace("count: 4, rate_gbps: 400", "count: 2, rate_gbps: 200")}))
    assert (stored.profiles["compute"].nics, stored.profiles["compute"].nic_rate_gbps) == (2, 200)
    assert len(stored.overrides) == 2
