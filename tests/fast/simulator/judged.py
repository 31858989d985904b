"""A simulated node looked at by the real Redfish driver and judged by the real gates."""

import time
from collections.abc import Mapping
from dataclasses import replace

from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.redfish.limits import Bounds, Deadlines
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.gates.judge import judge_node
from metalwright.model.agent_messages import RawInventory
from metalwright.model.case import NodeCase
from metalwright.model.hardware import HardwareFacts
from metalwright.model.ids import Digest, NodeName, node_subject
from metalwright.model.judgement import Gate, Result
from metalwright.model.observation import BootClaimsSeen, BootSeen, HardwareSeen, Kind, Observation, Witness
from metalwright.model.secret import Secret
from metalwright.model.spec import FirmwareLine, NodeSpec, PurchaseLine, StoredSpec
from metalwright.readers.sysfs import hardware_from_raw
from metalwright.simulator import linux_view
from metalwright.simulator.build import build_parts
from metalwright.simulator.parts import ServerParts
from metalwright.simulator.site import SimulatedSite
from tests.fast.simulator.simulated_runs import PASSWORD, USER, WallClock

SEED = 7
IMPATIENT = Bounds(deadlines=Deadlines(connect_s=0.5, request_s=0.5, slow_request_s=0.5, read_power_s=1.0, close_s=0.5))


def with_everything_bought(stored: StoredSpec) -> StoredSpec:
    """The same site with a purchase list that names every part, and a firmware baseline."""
    lines = [line for node in stored.spec.nodes for line in _lines(node, build_parts(stored, node, (), SEED))]
    firmware = tuple(
        FirmwareLine(profile="compute", component=component, version="01.01.03") for component in ("HostBIOS_0", "HGX_FW_GPU_*")
    )
    return replace(stored, spec=replace(stored.spec, purchase=tuple(lines), firmware=firmware))


def _lines(node: NodeSpec, parts: ServerParts) -> list[PurchaseLine]:
    kinds = {"gpu": parts.gpus, "nvswitch": parts.nvswitches, "nic": [nic for nic in parts.nics if nic.rdma], "drive": parts.drives}
    inside = [(kind, part.serial) for kind, found in kinds.items() for part in found]
    lines = [PurchaseLine(part="server", serial=node.serial, kind="system", line=1)]
    return lines + [PurchaseLine(part=kind, serial=serial, node_serial=node.serial, kind=kind, line=2) for kind, serial in inside]


async def looked_at(site: SimulatedSite, name: NodeName) -> NodeCase:
    """Both looks of the BMC as the driver gets them, and an agent of this boot that sees what Linux would show."""
    node = site.world.node(name)
    driver = RedfishFactory(lambda _: (Secret(USER), Secret(PASSWORD)), MemoryPins(), WallClock(), bounds=IMPATIENT).open(node)
    try:
        looks = [await driver.read(kind) for kind in (Kind.BMC_POWER, Kind.BMC_HARDWARE, Kind.BMC_HEALTH)]
    finally:
        await driver.close()
    now = time.time()
    parts = site.world.parts(name)
    looks.append(_look(node, Kind.AGENT_BOOT, Witness.RAM_DISK, _boot(parts, now), now))
    looks.append(_look(node, Kind.AGENT_HARDWARE, Witness.RAM_DISK, HardwareSeen(facts=in_band(parts)), now))
    looks.append(_look(node, Kind.BOOT_CLAIMS, Witness.ENDPOINT, BootClaimsSeen(claims=1, conflicts=0), now))
    spec = site.world.stored.spec
    return NodeCase(
        now=now,
        spec_digest=Digest(site.world.stored.digest),
        wish_digest=Digest(site.world.stored.digest),
        spec=spec,
        node=node,
        profile=site.world.stored.profiles[node.profile],
        parts=tuple(line for line in spec.purchase if node.serial in {line.serial, line.node_serial}),
        image=None,
        observations={(look.kind, look.witness): look for look in looks},
    )


def _look(node: NodeSpec, kind: Kind, witness: Witness, body: HardwareSeen | BootSeen | BootClaimsSeen, now: float) -> Observation:
    return Observation(subject=node_subject(node.name), kind=kind, witness=witness, seen_at=now, body=body)


def _boot(parts: ServerParts, now: float) -> BootSeen:
    serial = parts.in_band_identity.system_serial
    return BootSeen(boot_id="b", stage="ram", token_order=1, claimed_at=now - 1, last_contact_at=now, system_serial=serial)


def in_band(parts: ServerParts) -> HardwareFacts:
    """What the server makes of the files that the agent on this machine collects."""
    return hardware_from_raw(RawInventory(files=linux_view.files(parts)))


def colours(case: NodeCase) -> Mapping[str, Result]:
    """The worst result of every check of `inventory` and `firmware`."""
    order = (Result.FAIL, Result.UNDETERMINED, Result.PASS, Result.NOT_APPLICABLE)
    found: dict[str, Result] = {}
    for gate in (Gate.INVENTORY, Gate.FIRMWARE):
        for finding in judge_node(case, gate).findings:
            found[finding.check] = min(found.get(finding.check, finding.result), finding.result, key=order.index)
    return found
