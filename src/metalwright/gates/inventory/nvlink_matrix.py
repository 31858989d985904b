"""inventory.nvlink-matrix: how many NVLinks of each GPU reach which NVSwitch, against the profile and among the GPUs themselves.

A board with every link up can still be wired wrongly: a swapped cable, a mis-strapped module. Collectives then run at the speed
of the thinnest row, and nothing reports an error.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping

from metalwright.gates.answers import Fault, failed, listed, of_parts, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import out_of_band
from metalwright.gates.inventory.gpus import MISSING, without
from metalwright.gates.inventory.host import PROFILE
from metalwright.gates.sights import bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import HardwareFacts, NvLink
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate

Row = tuple[int, ...]
"""Links of one GPU to each switch, in the order of the switches' numbers."""
DO = "compare the named ports with a healthy node of the same profile; reseat the module, then replace the baseboard"


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Row by row; then every switch port belongs to one GPU port."""
    facts = out_of_band(case)
    if len(facts.gpus) < case.profile.gpus or len(facts.nvswitches) < case.profile.nvswitches:
        reason = f"only {len(facts.gpus)} GPUs and {len(facts.nvswitches)} NVSwitches can be judged"
        return undetermined(reason, MISSING, expected=_expected(case.profile.nvlinks_per_switch or None))
    unknown = [link for link in facts.nvlinks if link.peer is None and link.state not in ("down", "training")]
    if unknown:
        reason = f"the BMC does not say where NVLink {unknown[0].port} of GPU {unknown[0].gpu} leads ({len(unknown)} such links)"
        return undetermined(reason, "read it again; if it stays unread, waive with a reason", expected=_expected(None))
    rows = {gpu.index: _row(facts, gpu.index) for gpu in facts.gpus}
    wanted = case.profile.nvlinks_per_switch or _common(rows)
    expected = _expected(wanted)
    if wanted is None:
        return failed(expected, listed(f"{gpu.name}: {_words(rows[gpu.index])}" for gpu in facts.gpus), DO)
    faults = [fault for gpu in facts.gpus for fault in _faults(facts, gpu.index, gpu.name, wanted)] + _doubled(facts)
    return of_parts(faults, of=len(facts.gpus), expected=expected, ok=f"every GPU {_words(wanted)}", do=DO)


def _row(facts: HardwareFacts, gpu: int) -> Row:
    reached = Counter(_switch(link) for link in facts.nvlinks if link.gpu == gpu)
    return tuple(reached[switch.name] for switch in sorted(facts.nvswitches, key=lambda switch: switch.index))


def _common(rows: Mapping[int, Row]) -> Row | None:
    """The row of more than half of the GPUs; None when no row is."""
    row, count = Counter(rows.values()).most_common(1)[0]
    return row if 2 * count > len(rows) else None


def _faults(facts: HardwareFacts, gpu: int, name: str, wanted: Row) -> list[Fault]:
    switches = sorted(facts.nvswitches, key=lambda switch: switch.index)
    found = []
    for switch, expected in zip(switches, wanted, strict=False):
        ports = sorted(link.port for link in facts.nvlinks if link.gpu == gpu and _switch(link) == switch.name)
        if len(ports) != expected:
            which = f"(ports {', '.join(map(str, ports))}) " if ports else ""
            seen = f"{len(ports)} NVLinks {which}reach {switch.name}, {expected} are expected"
            found.append(Fault(part=f"gpu:{gpu}", name=name, seen=seen))
    return found


def _doubled(facts: HardwareFacts) -> list[Fault]:
    """Switch ports that more than one GPU port names."""
    claims: dict[str, list[NvLink]] = defaultdict(list)
    for link in facts.nvlinks:
        if link.peer is not None:
            claims[link.peer].append(link)
    names = {gpu.index: gpu.name for gpu in facts.gpus}
    return [
        Fault(part=f"gpu:{link.gpu}", name=names.get(link.gpu, f"GPU {link.gpu}"), seen=f"NVLink {link.port} names {peer}, as others do")
        for peer, links in claims.items()
        for link in links
        if len(links) > 1
    ]


def _switch(link: NvLink) -> str:
    return (link.peer or "").rpartition(":")[0]


def _expected(wanted: Row | None) -> str:
    rows = f"{_words(wanted)} NVLinks" if wanted else "the same number of NVLinks"
    return f"every GPU has {rows} to the NVSwitches in their order, and no switch port serves two GPU ports"


def _words(row: Row) -> str:
    return " + ".join(map(str, row))


CHECK = Check(
    id=CheckId("inventory.nvlink-matrix"),
    gate=Gate.INVENTORY,
    version=1,
    title="NVLinks reach the right switches",
    rule="Every GPU has as many NVLinks to each NVSwitch as the profile says (else: as the other GPUs); a switch port serves one GPU port.",
    source=f"{PROFILE}; Redfish Port.Links.ConnectedSwitchPorts",
    sights=(bmc("gpus", "nvlinks", "nvswitches"),),
    judge=judge,
    profile=("nvlinks_per_switch",),
    not_applicable=without("nvswitches", "NVSwitches"),
)
