"""The cable plan of a scaffold: rail-optimised, every port used once. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metalwright.codec.scaffold_kinds import CablePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class CableRow:
    """One line of cables.csv."""

    label: str
    a_device: str
    a_port: str
    b_device: str
    b_port: str
    length_m: int


def cable_rows(plan: CablePlan, nodes: Sequence[str]) -> list[CableRow]:
    """Node to leaf, then leaf to spine. ValueError above the nodes that the plan's tiers can carry."""
    if len(nodes) > plan.most_nodes:
        raise ValueError(f"this cable plan carries {plan.most_nodes} nodes, not {len(nodes)}")
    ends = [*_down(plan, nodes), *(_up(plan, len(nodes)) if plan.has_spines else ())]
    return [
        CableRow(label=f"C-{number:04d}", a_device=a[0], a_port=a[1], b_device=b[0], b_port=b[1], length_m=length)
        for number, (a, b, length) in enumerate(ends, start=1)
    ]


_End = tuple[str, str]


def _down(plan: CablePlan, nodes: Sequence[str]) -> Iterator[tuple[_End, _End, int]]:
    """Rail r of a pod goes to leaf r modulo the pod's leaves; ports count up node by node."""
    rails_per_leaf = plan.rails // plan.leaves_per_pod
    for index, node in enumerate(nodes):
        pod, place = divmod(index, plan.pod)
        for rail in range(plan.rails):
            leaf = pod * plan.leaves_per_pod + rail % plan.leaves_per_pod
            port = place * rails_per_leaf + rail // plan.leaves_per_pod + 1
            yield (node, f"nic{rail}"), (_leaf(leaf), str(port)), 5


def _up(plan: CablePlan, nodes: int) -> Iterator[tuple[_End, _End, int]]:
    """As many links up as down, spread evenly over the spines: non-blocking."""
    pods = -(-nodes // plan.pod)
    leaves, ups = pods * plan.leaves_per_pod, plan.ports // 2
    spines = -(-leaves * ups // plan.ports)
    used = [0] * spines
    for leaf in range(leaves):
        for up in range(ups):
            spine = up % spines
            used[spine] += 1
            yield (_leaf(leaf), str(ups + up + 1)), (f"spine{spine + 1:02d}", str(used[spine])), 20


def _leaf(index: int) -> str:
    return f"leaf{index + 1:02d}"
