"""plan.depth: what is not automatic has people to do it. A change of depth changes this finding, so the log records it."""

from metalwright.gates.answers import failed, listed, passed
from metalwright.gates.check import Answer, SiteCheck
from metalwright.model.case import SiteCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import PHASE_OF, Gate
from metalwright.model.spec import Depth, Role, SiteSpec


def depth_of(spec: SiteSpec, gate: Gate) -> Depth:
    """A gate's own depth, else its phase's, else automatic."""
    return spec.depth.get(gate) or spec.depth.get(PHASE_OF[gate]) or Depth.AUTOMATIC


def judge(case: SiteCase) -> tuple[Answer, ...]:
    """Whoever may execute confirms and does what is not automatic."""
    with_people = {gate: depth_of(case.spec, gate) for gate in Gate if depth_of(case.spec, gate) is not Depth.AUTOMATIC}
    said = "; ".join(f"{gate}: {depth}" for gate, depth in with_people.items())
    if with_people and not any(who.strip() for who in case.spec.responsible.get(Role.EXECUTE, ())):
        expected = f"somebody who may execute, for {listed(with_people)}"
        return failed(expected, f"{said}; nobody", "name them under `responsible: execute` in site.yaml, or make these gates automatic")
    return passed("people for every gate that is not automatic", said or "every gate automatic")


CHECK = SiteCheck(
    id=CheckId("plan.depth"),
    version=1,
    title="Work by hand has hands",
    rule="A gate whose depth is assisted or manual needs at least one principal who may execute.",
    source="`depth` and `responsible` of the spec",
    judge=judge,
)
