"""plan.power, cooling, space: each rack can feed, cool and hold what the spec puts into it."""

from collections.abc import Mapping

from metalwright.gates.answers import Fault, number, of_parts
from metalwright.gates.check import Answer, SiteCheck
from metalwright.model.case import SiteCase
from metalwright.model.ids import CheckId, RackName
from metalwright.model.spec import NodeSpec, RackSpec

REDUNDANCIES = ("N", "N+1", "2N")


def judge_power(case: SiteCase) -> tuple[Answer, ...]:
    """Full load on what is left after a lost feed."""
    faults = [fault for rack in case.spec.racks for fault in _power_faults(case, rack)]
    expected = "every rack carries its nodes at full load with its redundancy lost (N+1: one feed gone; 2N: one side gone)"
    do = "put fewer nodes into the rack, add feeds, or declare a power cap in the profile (max_watts)"
    return of_parts(faults, of=len(case.spec.racks), expected=expected, ok=_budgets(case), do=do)


def judge_cooling(case: SiteCase) -> tuple[Answer, ...]:
    """All power becomes heat."""
    faults = [
        Fault(
            part=f"rack:{rack.name}",
            name=f"rack {rack.name}",
            seen=f"{_kw(watts)} of heat, {rack.cooling.kind} removes {rack.cooling.kw:g} kW",
        )
        for rack in case.spec.racks
        if (watts := _watts(case, rack)) > rack.cooling.kw * 1000
    ]
    expected = "every rack's cooling removes the heat of its nodes at full load"
    ok = "; ".join(f"{rack.name}: {_kw(_watts(case, rack))} of {rack.cooling.kw:g} kW" for rack in case.spec.racks[:4])
    return of_parts(faults, of=len(case.spec.racks), expected=expected, ok=ok, do="put fewer nodes into the rack or raise its cooling")


def judge_space(case: SiteCase) -> tuple[Answer, ...]:
    """Lowest units only: heights are not in the profiles."""
    racks = {rack.name: rack for rack in case.spec.racks}
    taken: dict[tuple[RackName, int], str] = {}
    faults = []
    for node in case.spec.nodes:
        other = taken.setdefault((node.rack, node.unit), node.name)
        seen = f"unit {node.unit} of rack {node.rack} is already {other}'s" if other != node.name else _outside(racks, node)
        if seen:
            faults.append(Fault(part=f"node:{node.name}", name=node.name, seen=seen))
    ok = f"{number(len(taken), 'node')} in {number(len(racks), 'rack')}"
    do = "correct rack and unit in nodes.csv"
    return of_parts(faults, of=len(case.spec.nodes), expected="every node has a rack unit of its own inside its rack", ok=ok, do=do)


def carried_watts(rack: RackSpec) -> float:
    """What the rack can draw after its redundancy is lost; 0 when its feeds cannot give that redundancy."""
    feeds = sorted(feed.kw * 1000 for feed in rack.feeds)
    if rack.redundancy == "N":
        return sum(feeds)
    if rack.redundancy == "N+1":
        return sum(feeds[:-1])
    return sum(feeds[: len(feeds) // 2]) if len(feeds) % 2 == 0 else 0.0  # 2N: the weaker half, whatever is wired to it


def _power_faults(case: SiteCase, rack: RackSpec) -> list[Fault]:
    part, name = f"rack:{rack.name}", f"rack {rack.name}"
    if rack.redundancy not in REDUNDANCIES:
        return [Fault(part=part, name=name, seen=f"redundancy `{rack.redundancy}` is none of {', '.join(REDUNDANCIES)}")]
    watts, carried = _watts(case, rack), carried_watts(rack)
    if watts <= carried:
        return []
    left = {"N+1": "with one feed gone", "2N": "on one side"}.get(rack.redundancy, "on all feeds")
    nodes = number(sum(node.rack == rack.name for node in case.spec.nodes), "node")
    seen = f"{nodes} draw up to {_kw(watts)}; {number(len(rack.feeds), 'feed')} carry {_kw(carried)} {left} ({rack.redundancy})"
    return [Fault(part=part, name=name, seen=seen)]


def _watts(case: SiteCase, rack: RackSpec) -> int:
    return sum(case.profiles[node.profile].max_watts for node in case.spec.nodes if node.rack == rack.name)


def _budgets(case: SiteCase) -> str:
    return "; ".join(f"{rack.name}: {_kw(_watts(case, rack))} of {_kw(carried_watts(rack))}" for rack in case.spec.racks[:4])


def _outside(racks: Mapping[RackName, RackSpec], node: NodeSpec) -> str:
    rack = racks.get(node.rack)
    if rack is None:
        return f"rack {node.rack} is not declared"
    return "" if 1 <= node.unit <= rack.units else f"unit {node.unit} is outside rack {rack.name} of {rack.units} units"


def _kw(watts: float) -> str:
    return f"{watts / 1000:.1f} kW"


POWER = SiteCheck(
    id=CheckId("plan.power"),
    version=1,
    title="Racks can feed their nodes",
    rule="The nodes of a rack at their profiles' full load fit what its feeds carry after the declared redundancy is lost.",
    source="`racks` of the spec (usable kW after derating); max_watts of the hardware profiles",
    judge=judge_power,
)
COOLING = SiteCheck(
    id=CheckId("plan.cooling"),
    version=1,
    title="Racks can cool their nodes",
    rule="The nodes of a rack at full load give off no more heat than its cooling removes.",
    source="`racks` of the spec; max_watts of the hardware profiles",
    judge=judge_cooling,
)
SPACE = SiteCheck(
    id=CheckId("plan.space"),
    version=1,
    title="Every node has its place",
    rule="No two nodes name the same unit of a rack, and every unit lies inside its rack.",
    source="`nodes` and `racks` of the spec",
    judge=judge_space,
)
