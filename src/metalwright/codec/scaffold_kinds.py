"""The kinds of site that `metalwright init` scaffolds, as numbers; the words are in `data/scaffolds/`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CablePlan:
    """A rail-optimised fabric: NIC r of every node goes to the leaf of rail r. `pod`: nodes below one group of leaves.

    One switch has `ports` ports; with `spines` half of a leaf's ports go up.
    """

    rails: int
    leaves_per_pod: int
    pod: int
    ports: int = 64
    has_spines: bool = False
    most_nodes: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldKind:
    """What differs between the kinds.

    `parts`: kind of part → (part number, how many in one server). `rack_units`: height of one server. `bmc`: first address of the
    BMCs, the rest count on. `port`: of the BMC's Redfish service. `packing`: the vendor's list as CSV or as XLSX.
    """

    name: str
    what: str
    nodes: int
    profile: str
    system_part: str
    nodes_per_rack: int
    rack_units: int
    bmc: str
    cooling: Literal["air", "liquid", "hybrid"] = "air"
    parts: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    port: int | None = None
    packing: Literal["csv", "xlsx"] = "csv"
    cables: CablePlan | None = None
    image_recipe: Literal["synthetic", "virtual", "debian"] = "debian"
    writes_secrets: bool = False
    most_nodes: int = 20_000
    """Loopback and the serials have room for more; a site is a cell, and cells are smaller."""


_H100 = {"gpu": ("GPU-H100-SXM", 8), "nvswitch": ("NVSWITCH-3", 4), "nic": ("NIC-400G", 8), "drive": ("NVME-3T84", 8)}
_H200 = _H100 | {"gpu": ("GPU-H200-SXM", 8)}
_TRAY = {"gpu": ("GPU-GB200", 4), "nic": ("NIC-400G", 4), "drive": ("NVME-3T84", 8)}
_ONE_SWITCH = CablePlan(rails=8, leaves_per_pod=1, pod=8, most_nodes=8)
_RAILS = CablePlan(rails=8, leaves_per_pod=8, pod=32, has_spines=True, most_nodes=256)

KINDS: Mapping[str, ScaffoldKind] = {
    kind.name: kind
    for kind in (
        ScaffoldKind(
            name="first-cluster",
            what="six HGX H100 servers on one InfiniBand switch, with the vendor's spreadsheet",
            nodes=6,
            profile="hgx-h100-8",
            system_part="SYS-HGX-H100-8U",
            parts=_H100,
            nodes_per_rack=3,
            rack_units=8,
            bmc="10.20.0.11",
            packing="xlsx",
            cables=_ONE_SWITCH,
        ),
        ScaffoldKind(
            name="hgx-h100-rails",
            what="32 HGX H100 servers on a rail-optimised, non-blocking InfiniBand fabric of two tiers",
            nodes=32,
            profile="hgx-h100-8",
            system_part="SYS-HGX-H100-8U",
            parts=_H100,
            nodes_per_rack=4,
            cooling="hybrid",
            rack_units=8,
            bmc="10.20.0.11",
            cables=_RAILS,
        ),
        ScaffoldKind(
            name="gb200-nvl72",
            what="one GB200 NVL72 rack: 18 compute trays of 4 GPUs, liquid-cooled",
            nodes=18,
            profile="gb200-nvl72-tray",
            system_part="GB200-COMPUTE-TRAY",
            parts=_TRAY,
            nodes_per_rack=18,
            cooling="liquid",
            rack_units=1,
            bmc="10.30.0.11",
        ),
        ScaffoldKind(
            name="delivered",
            what="a cluster built by others, 16 HGX H200 servers: the acceptance suite before signing",
            nodes=16,
            profile="hgx-h200-8",
            system_part="SYS-HGX-H200-8U",
            parts=_H200,
            nodes_per_rack=4,
            cooling="hybrid",
            rack_units=8,
            bmc="10.40.0.11",
            packing="xlsx",
        ),
        ScaffoldKind(
            name="simulated",
            what="HGX H100 servers of the simulator: everything runs on this machine",
            nodes=4,
            profile="hgx-h100-8",
            system_part="SIM-HGX-H100",
            parts=_H100,
            nodes_per_rack=8,
            cooling="liquid",
            rack_units=4,
            bmc="127.0.10.1",
            port=9443,
            image_recipe="synthetic",
            writes_secrets=True,
        ),
        ScaffoldKind(
            name="lab",
            what="virtual machines on this machine: real boots without real servers",
            nodes=2,
            profile="virtual-gpu-0",
            system_part="QEMU-Q35",
            parts={"drive": ("QEMU-NVME-2G", 1)},
            nodes_per_rack=16,
            rack_units=1,
            bmc="127.0.10.1",
            port=9443,
            image_recipe="virtual",
            most_nodes=100,
            writes_secrets=True,
        ),
    )
}
