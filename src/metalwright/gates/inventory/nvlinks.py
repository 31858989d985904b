"""inventory.nvlinks: every GPU has all its NVLinks up at full speed, and both ends name each other."""

from metalwright.gates.answers import Fault, of_parts, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import out_of_band
from metalwright.gates.inventory.gpus import MISSING, without
from metalwright.gates.inventory.host import PROFILE
from metalwright.gates.limits import limit
from metalwright.gates.sights import bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import Gpu, HardwareFacts, NvLink
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """count × state × speed × lanes × peer, per GPU."""
    facts, wanted = out_of_band(case), case.profile.nvlinks_per_gpu
    expected = f"{wanted} NVLinks per GPU up at {case.profile.nvlink_gbps:g} Gbit/s, both ends agreeing"
    if len(facts.gpus) < case.profile.gpus:
        return undetermined(f"only {len(facts.gpus)} of {case.profile.gpus} GPUs can be judged", MISSING, expected=expected)
    lanes = _lanes(facts)
    faults = [fault for gpu in facts.gpus for fault in _faults(case, gpu, _links_of(facts, gpu), lanes)]
    unclear = [link for link in facts.nvlinks if _is_unclear(case, link)]
    if unclear and not faults:
        more = f" (and {len(unclear) - 1} more)" if len(unclear) > 1 else ""
        reason = f"state, speed or far end of {_name(unclear[0])} is not said{more}"
        return undetermined(reason, "read it again; if it stays unread, waive with a reason", expected=expected)
    do = "power the node fully off and on; if the link stays down, reseat the module, then replace the baseboard"
    ok = f"{len(facts.gpus) * wanted} links up"
    return of_parts(faults, of=len(facts.gpus), expected=expected, ok=ok, do=do)


def _links_of(facts: HardwareFacts, gpu: Gpu) -> tuple[NvLink, ...]:
    return tuple(link for link in facts.nvlinks if link.gpu == gpu.index)


def _lanes(facts: HardwareFacts) -> int:
    """Lanes of a whole link: the most that any link of this machine runs on; 0 where none is said."""
    return max((link.width for link in facts.nvlinks if link.width is not None), default=0)


def _faults(case: NodeCase, gpu: Gpu, links: tuple[NvLink, ...], lanes: int) -> list[Fault]:
    part, found = f"gpu:{gpu.index}", [text for link in links for text in _wrong(case, link, lanes)]
    ports = {link.port for link in links}
    if len(ports) < case.profile.nvlinks_per_gpu:
        found.insert(0, f"{len(ports)} of {case.profile.nvlinks_per_gpu} NVLinks are there")
    return [Fault(part=part, name=gpu.name, seen=text) for text in found]


def _wrong(case: NodeCase, link: NvLink, lanes: int) -> list[str]:
    name = f"NVLink {link.port}" + (f" to {link.peer}" if link.peer else "")
    if link.state in ("down", "training"):
        return [f"{name} is {link.state}"]
    slow = link.gbps is not None and link.gbps * 1000 < case.profile.nvlink_gbps * (1000 - limit("nvlink.speed-tolerance").value)
    found = [f"{name} runs at {link.gbps:g} Gbit/s"] if slow else []
    if link.width is not None and link.width < lanes:
        found.append(f"{name} runs on {link.width} of {lanes} lanes")
    if link.peer_agrees is False:
        found.append(f"{name}: the far end names another port")
    return found


def _is_unclear(case: NodeCase, link: NvLink) -> bool:
    one_ended = case.profile.nvswitches > 0 and link.peer_agrees is None
    return link.state not in ("up", "down", "training") or link.gbps is None or one_ended


def _name(link: NvLink) -> str:
    return f"GPU {link.gpu} NVLink {link.port}"


CHECK = Check(
    id=CheckId("inventory.nvlinks"),
    gate=Gate.INVENTORY,
    version=2,
    title="NVLinks are up",
    rule="Every GPU has the profile's number of NVLinks, up at the profile's speed on all lanes; each switch port names the GPU port back.",
    source=f"{PROFILE}; Redfish Port (LinkStatus, CurrentSpeedGbps, ActiveWidth, ConnectedSwitchPorts); threshold nvlink.speed-tolerance",
    sights=(bmc("gpus", "nvlinks", "nvswitches"),),
    judge=judge,
    profile=("nvlinks_per_gpu", "nvlink_gbps"),
    not_applicable=without("nvlinks_per_gpu", "NVLinks"),
    thresholds=("nvlink.speed-tolerance",),
)
