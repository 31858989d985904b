"""The kinds of site that `metalwright init` scaffolds, as numbers; the words are in `data/scaffolds/`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldKind:
    """What differs between the kinds.

    `parts`: kind of part → (part number, how many in one server). `rack_units`: height of one server. `bmc`: first address of the
    BMCs, the rest count on. `port`: of the BMC's Redfish service. `cables`: whether a rail-optimised cable plan is written.
    """

    name: str
    what: str
    nodes: int
    profile: str
    system_part: str
    parts: Mapping[str, tuple[str, int]]
    nodes_per_rack: int
    rack_units: int
    bmc: str
    port: int | None = None
    rails: int = 0
    image: str = "trainer"
    image_recipe: str = "simulated"
    writes_secrets: bool = False


_HGX_H100 = {
    "gpu": ("935-24287-0001-000", 8),
    "nvswitch": ("935-24287-NVSW", 4),
    "nic": ("MCX75310AAS-NEAT", 8),
    "drive": ("MZQL23T8HCLS-00A07", 8),
}
KINDS: Mapping[str, ScaffoldKind] = {
    kind.name: kind
    for kind in (
        ScaffoldKind(
            name="simulated",
            what="HGX H100 servers of the simulator: everything runs on this machine",
            nodes=4,
            profile="hgx-h100-8",
            system_part="SIM-HGX-H100",
            parts=_HGX_H100,
            nodes_per_rack=8,
            rack_units=4,
            bmc="127.0.10.1",
            port=9443,
            writes_secrets=True,
        ),
    )
}
