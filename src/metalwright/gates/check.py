"""What a check is: a rule, the looks it rests on, and a pure function from a case to answers.

A check never sees a look that is missing, failed, stale or has a gap in what it uses: `gates.judge` answers *undetermined* in its
place. So a check holds its rule and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass

from metalwright.gates.answer import Answer
from metalwright.model.case import NodeCase, SiteCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.observation import Kind, Need, Witness

__all__ = ["Answer", "Check", "Sight", "SiteCheck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A look that a check rests on: one kind, by any of `witnesses` (the newest look counts)."""

    kind: Kind
    witnesses: tuple[Witness, ...]
    max_age_s: float
    """Older looks do not count. Looks are due again at half of it, so that a gate does not flap."""
    uses: tuple[str, ...] = ()
    """Which facts of the look the check reads, as gap paths (`gpus`, `gpus/*/serial`): a gap in one makes it undetermined."""
    since_boot: bool = False
    """Looks from before the machine's present boot do not count."""
    optional: bool = False
    """The check goes without it when there is none; a look that is there and does not count is left out."""
    powered: bool = False
    """Looks at a machine that is off do not count: parts without power are not absent."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """One need per witness."""
        return tuple(Need(kind=self.kind, witness=witness, max_age_s=self.max_age_s) for witness in self.witnesses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a node. `version` rises with every change of meaning: waivers and pinned check sets name it."""

    id: CheckId
    gate: Gate
    version: int
    title: str
    rule: str
    """The rule in one sentence."""
    source: str
    """Where the rule comes from."""
    sights: tuple[Sight, ...]
    judge: Callable[[NodeCase], tuple[Answer, ...]]
    not_applicable: Callable[[NodeCase], str] | None = None
    """Why the spec makes this check meaningless for the node; empty when it applies. Decided before any look."""
    fails_early: bool = False
    """A contradiction among the looks that are there counts even while others are missing (wrong machine, stolen boot)."""
    thresholds: tuple[str, ...] = ()
    """Names in `data/thresholds.yaml`."""
    profile: tuple[str, ...] = ()
    """Numbers of the hardware profile that it compares with."""

    def why_not(self, case: NodeCase) -> str:
        """Why it does not apply to this node; empty when it does."""
        return self.not_applicable(case) if self.not_applicable is not None else ""

    @property
    def needs(self) -> tuple[Need, ...]:
        """The looks it rests on."""
        return tuple(need for sight in self.sights for need in sight.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteCheck:
    """One check of the site's plan: it reads the spec, never the machines."""

    id: CheckId
    version: int
    title: str
    rule: str
    source: str
    judge: Callable[[SiteCase], tuple[Answer, ...]]
    gate: Gate = Gate.PLAN
    needs: tuple[Need, ...] = ()
    thresholds: tuple[str, ...] = ()
