"""plan.capacity, objectives, acceptance, retire: what the cluster is for, how good it must be, and how it ends."""

from metalwright.gates.answers import failed, listed, number, passed
from metalwright.gates.check import Answer, SiteCheck
from metalwright.model.case import SiteCase
from metalwright.model.ids import CheckId
from metalwright.model.spec import Capacity, RetirePolicy

MEDIA = ("clear", "purge", "destroy")
FATES = ("destroy", "move", "keep")


def judge_capacity(case: SiteCase) -> tuple[Answer, ...]:
    """Workloads named, and no more GPUs promised than there are."""
    capacity, owned = case.spec.capacity, _gpus(case)
    expected = f"a workload mix of at most {number(owned, 'GPU')}, with tenancy and residency"
    if capacity is None:
        return failed(expected, "no capacity plan", "add `capacity:` to site.yaml: workloads, tenancy, residency")
    missing = _unsaid(capacity)
    if missing:
        return failed(expected, f"{listed(missing)} not said", "complete `capacity:` in site.yaml")
    promised = sum(workload.gpus for workload in capacity.workloads)
    negative = [workload.name for workload in capacity.workloads if workload.gpus < 0]
    seen = f"{number(len(capacity.workloads), 'workload')} of {number(promised, 'GPU')} together"
    if promised > owned or negative:
        return failed(expected, seen, "shrink a workload or add nodes: GPUs that do not exist cannot be promised")
    return passed(expected, seen)


def judge_objectives(case: SiteCase) -> tuple[Answer, ...]:
    """At least one, each with a bound and a window."""
    objectives, expected = case.spec.objectives, "at least one service objective, each with a bound and a window"
    if not objectives:
        return failed(expected, "none", "add `objectives:` to site.yaml, such as training-goodput at_least 0.90 over 30d")
    vague = [objective.name for objective in objectives if not (objective.at_least or objective.at_most) or objective.over <= 0]
    if vague:
        return failed(expected, f"without a bound or a window: {listed(vague)}", "give each objective at_least or at_most, and over")
    return passed(expected, listed(objective.name for objective in objectives))


def judge_acceptance(case: SiteCase) -> tuple[Answer, ...]:
    """A suite and a soak, agreed before delivery."""
    acceptance, expected = case.spec.acceptance, "an acceptance suite with a soak time"
    if acceptance is None or not acceptance.use:
        return failed(expected, "none", "add `acceptance: {use: standard, soak: 12h}` to site.yaml")
    if acceptance.soak <= 0:
        return failed(expected, f"{acceptance.use} without a soak", "give the soak a time, such as 12h")
    waived = f"; waived in the plan: {listed(acceptance.waived_in_plan)}" if acceptance.waived_in_plan else ""
    return passed(expected, f"{acceptance.use}, soak {acceptance.soak} s{waived}")


def judge_retire(case: SiteCase) -> tuple[Answer, ...]:
    """Media, keys and data each have an end."""
    retire, expected = case.spec.retire, "a retire policy for media, keys and data"
    if retire is None:
        return failed(expected, "none", "add `retire:` to site.yaml: media (clear, purge or destroy), keys, data")
    wrong = _loose_ends(retire)
    if wrong:
        return failed(expected, listed(wrong), "complete `retire:` in site.yaml: what holds data today is what must be cleaned one day")
    return passed(expected, f"media: {retire.media}; keys: {retire.keys}; data: {number(len(retire.data), 'location')}")


def _gpus(case: SiteCase) -> int:
    return sum(case.profiles[node.profile].gpus for node in case.spec.nodes)


def _unsaid(capacity: Capacity) -> list[str]:
    said = {"workloads": bool(capacity.workloads), "tenancy": bool(capacity.tenancy), "residency": bool(capacity.residency)}
    return [name for name, is_said in said.items() if not is_said]


def _loose_ends(retire: RetirePolicy) -> list[str]:
    found = [] if retire.media in MEDIA else [f"media `{retire.media}` is none of {', '.join(MEDIA)}"]
    found += [] if retire.keys else ["keys: not said"]
    found += [] if retire.data else ["data: not said"]
    return found + [f"data {each.where}: `{each.then}` is none of {', '.join(FATES)}" for each in retire.data if each.then not in FATES]


CAPACITY = SiteCheck(
    id=CheckId("plan.capacity"),
    version=1,
    title="The capacity plan fits the machines",
    rule="The workload mix, tenancy and residency are declared, and the workloads promise no more GPUs than the nodes have.",
    source="`capacity` of the spec; GPU counts of the hardware profiles",
    judge=judge_capacity,
)
OBJECTIVES = SiteCheck(
    id=CheckId("plan.objectives"),
    version=1,
    title="Service objectives are set",
    rule="At least one service objective is declared, each with a bound and a window.",
    source="`objectives` of the spec",
    judge=judge_objectives,
)
ACCEPTANCE = SiteCheck(
    id=CheckId("plan.acceptance"),
    version=1,
    title="Acceptance is agreed beforehand",
    rule="The acceptance suite and its soak time are declared before delivery.",
    source="`acceptance` of the spec",
    judge=judge_acceptance,
)
RETIRE = SiteCheck(
    id=CheckId("plan.retire"),
    version=1,
    title="The end is planned",
    rule="The retire policy says what becomes of media, of keys and of every data location.",
    source="`retire` of the spec; media methods of NIST SP 800-88r2 (clear, purge, destroy)",
    judge=judge_retire,
)
