"""plan.owners: somebody is responsible for each thing that only a person may do."""

from metalwright.gates.answers import failed, listed, passed
from metalwright.gates.check import Answer, SiteCheck
from metalwright.model.case import SiteCase
from metalwright.model.ids import CheckId
from metalwright.model.spec import Role

REQUIRED = (Role.DECLARE_LIVE, Role.WAIVE, Role.EXECUTE, Role.OWN_DATA)


def judge(case: SiteCase) -> tuple[Answer, ...]:
    """At least one principal per role."""
    expected = f"at least one principal each for {', '.join(REQUIRED)}"
    empty = [role for role in REQUIRED if not any(who.strip() for who in case.spec.responsible.get(role, ()))]
    if empty:
        return failed(expected, f"nobody for {listed(empty)}", "name them under `responsible:` in site.yaml, as in keys/allowed_signers")
    return passed(expected, "; ".join(f"{role}: {', '.join(case.spec.responsible[role])}" for role in REQUIRED))


OWNERS = SiteCheck(
    id=CheckId("plan.owners"),
    version=1,
    title="Every role has somebody",
    rule="Who may declare the cluster live, waive, execute and own its data is named, at least one principal each.",
    source="`responsible` of the spec (RACI)",
    judge=judge,
)
