"""Findings, gates, verdicts: what was judged."""

from dataclasses import dataclass
from enum import StrEnum

from metalwright.model.ids import CheckId, Digest, Instant, Subject


class Result(StrEnum):
    """Four results. Only PASS and NOT_APPLICABLE let a gate be green."""

    PASS = "pass"
    FAIL = "fail"
    UNDETERMINED = "undetermined"
    NOT_APPLICABLE = "not-applicable"


class Phase(StrEnum):
    PLAN = "plan"
    PROVISION = "provision"
    VALIDATE = "validate"
    OPERATE = "operate"
    RETIRE = "retire"


class Gate(StrEnum):
    """Gates in the order a node passes them."""

    PLAN = "plan"
    INVENTORY = "inventory"
    FIRMWARE = "firmware"
    OS = "os"
    FABRIC = "fabric"
    SCHEDULER = "scheduler"
    ACCEPTANCE = "acceptance"
    SERVICE = "service"
    RETIRED = "retired"


PHASE_OF: dict[Gate, Phase] = {
    Gate.PLAN: Phase.PLAN,
    Gate.INVENTORY: Phase.PROVISION,
    Gate.FIRMWARE: Phase.PROVISION,
    Gate.OS: Phase.PROVISION,
    Gate.FABRIC: Phase.PROVISION,
    Gate.SCHEDULER: Phase.PROVISION,
    Gate.ACCEPTANCE: Phase.VALIDATE,
    Gate.SERVICE: Phase.OPERATE,
    Gate.RETIRED: Phase.RETIRE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check on one subject. Texts name the part, the expected, the seen, and what to do."""

    check: CheckId
    subject: Subject
    result: Result
    expected: str = ""
    seen: str = ""
    reason: str = ""
    """Why undetermined or not applicable."""
    do: str = ""
    source: str = ""
    """Where the rule or the threshold comes from."""
    waiver: str = ""
    """Digest of the signed paper that keeps it from counting; empty when it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """An observation a verdict rests on."""

    subject: Subject
    kind: str
    witness: str
    digest: Digest
    seen_at: Instant


class Colour(StrEnum):
    GREEN = "green"
    RED = "red"
    UNDETERMINED = "undetermined"
    WAIVED = "waived"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """A gate judged on one subject. Green: at least one check ran and every finding is pass or not applicable."""

    gate: Gate
    subject: Subject
    colour: Colour
    findings: tuple[Finding, ...]
    cited: tuple[Cited, ...] = ()

    @property
    def is_open(self) -> bool:
        """The next gate may be worked towards."""
        return self.colour in (Colour.GREEN, Colour.WAIVED)
