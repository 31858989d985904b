"""The library of hardware profiles, and what a site makes of them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from metalwright.codec.notebook import Notebook
from metalwright.codec.shapes import decode
from metalwright.codec.yaml_tree import read_yaml
from metalwright.model.errors import InvariantError
from metalwright.model.spec import HardwareProfile, ProfileSpec


@cache
def profiles() -> Mapping[str, HardwareProfile]:
    """Library name → its newest version. Read once from `data/profiles.yaml`."""
    tree = read_yaml(files("metalwright.data").joinpath("profiles.yaml").read_text(encoding="utf-8"))
    book = Notebook()
    found = decode(tuple[HardwareProfile, ...], tree.value, (), book, tree.texts)
    if tree.problems or book.problems:
        raise InvariantError(f"data/profiles.yaml is broken: {tree.problems or book.problems}")
    newest: dict[str, HardwareProfile] = {}
    for profile in sorted(found, key=lambda one: one.version):
        newest[profile.name] = profile
    return newest


def effective_profiles(declared: Mapping[str, ProfileSpec]) -> tuple[dict[str, HardwareProfile], tuple[str, ...]]:
    """Site name → library profile with the site's numbers, and the trail of every number that differs.

    Every `base` must be in the library: the reader of the folder has checked that.
    """
    effective: dict[str, HardwareProfile] = {}
    trail: list[str] = []
    for name, wanted in declared.items():
        base = profiles()[wanted.base]
        changes = {field: value for field, value in _numbers(wanted, base).items() if value != getattr(base, field)}
        trail += [f"profile {name}: {field} {getattr(base, field)} → {value} (site.yaml)" for field, value in changes.items()]
        effective[name] = replace(base, **changes)
    return effective, tuple(trail)


def _numbers(wanted: ProfileSpec, base: HardwareProfile) -> dict[str, Any]:
    """Fields of the library profile that the site sets."""
    found: dict[str, Any] = {
        "cpus": wanted.cpus,
        "memory_gib": wanted.memory_gib,
        "gpus": wanted.gpus,
        "max_watts": wanted.max_watts,
        "nics": wanted.nics.count if wanted.nics else None,
        "nic_rate_gbps": wanted.nics.rate_gbps if wanted.nics else None,
        "nvme": wanted.nvme.count if wanted.nvme else None,
        "nvme_each_tb": wanted.nvme.each_tb if wanted.nvme else None,
    }
    if wanted.host_pcie_generation is not None:
        found["gpu_pcie_generation"] = min(wanted.host_pcie_generation, base.gpu_pcie_generation)
    return {field: value for field, value in found.items() if value is not None}
