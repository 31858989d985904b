"""What can be wrong with a plan before anything is bought: for each check of the plan gate, a change that it must turn red at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from metalwright.model.case import SiteCase
from metalwright.model.judgement import Gate
from metalwright.model.spec import Depth, SiteSpec

Change = Callable[[SiteSpec], SiteSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFault:
    """One hole in a plan. `loses_images`: what was built is gone too."""

    name: str
    summary: str
    change: Change = lambda spec: spec
    loses_images: bool = False

    def applied(self, case: SiteCase) -> SiteCase:
        """The same site with the hole in it."""
        return replace(case, spec=self.change(case.spec), images={} if self.loses_images else case.images)


def _weak_feeds(spec: SiteSpec) -> SiteSpec:
    return replace(spec, racks=tuple(replace(rack, feeds=tuple(replace(feed, kw=0.1) for feed in rack.feeds)) for rack in spec.racks))


def _weak_cooling(spec: SiteSpec) -> SiteSpec:
    return replace(spec, racks=tuple(replace(rack, cooling=replace(rack.cooling, kw=0.1)) for rack in spec.racks))


def _one_place(spec: SiteSpec) -> SiteSpec:
    first = spec.nodes[0]
    return replace(spec, nodes=tuple(replace(node, rack=first.rack, unit=first.unit) for node in spec.nodes))


def _manual_without_people(spec: SiteSpec) -> SiteSpec:
    return replace(spec, depth={Gate.OS: Depth.MANUAL}, responsible={})


SPEC_FAULTS: Mapping[str, SpecFault] = {
    "plan.capacity": SpecFault(name="no-capacity-plan", summary="no capacity plan", change=lambda spec: replace(spec, capacity=None)),
    "plan.objectives": SpecFault(name="no-objectives", summary="no service objectives", change=lambda spec: replace(spec, objectives=())),
    "plan.owners": SpecFault(name="no-owners", summary="nobody is named for anything", change=lambda spec: replace(spec, responsible={})),
    "plan.depth": SpecFault(name="nobody-to-do-it", summary="a gate is manual and nobody may execute", change=_manual_without_people),
    "plan.acceptance": SpecFault(
        name="no-acceptance-list", summary="no acceptance list", change=lambda spec: replace(spec, acceptance=None)
    ),
    "plan.retire": SpecFault(name="no-retire-path", summary="no retire policy", change=lambda spec: replace(spec, retire=None)),
    "plan.power": SpecFault(name="weak-feeds", summary="every feed carries 100 W", change=_weak_feeds),
    "plan.cooling": SpecFault(name="weak-cooling", summary="every rack's cooling removes 100 W", change=_weak_cooling),
    "plan.space": SpecFault(name="one-place", summary="all nodes in one rack unit", change=_one_place),
    "plan.purchase": SpecFault(name="no-purchase-list", summary="no purchase list", change=lambda spec: replace(spec, purchase=())),
    "plan.image": SpecFault(name="image-not-built", summary="the ordered image was never built", loses_images=True),
}
"""Check → its fault."""
