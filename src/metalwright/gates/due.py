"""Which looks are due for a gate, and how often: the due list of observers, who own no freshness policy."""

from collections.abc import Iterable

from metalwright.gates.check import Check, Sight
from metalwright.gates.freshness import Blocked, boot_floor, usable_look
from metalwright.gates.registry import checks_of
from metalwright.model.case import NodeCase
from metalwright.model.judgement import Gate, GateVerdict, Result
from metalwright.model.observation import Kind, Need, Witness


def needs_of(gate: Gate, case: NodeCase) -> tuple[Need, ...]:
    """What must be looked at for a gate.

    A need is due at half the age at which its look stops counting, so that a gate does not flap, and at once when the machine has
    booted since. Before any agent has checked in, the BMC's inventory is not needed: it would not count after the boot (a site that is
    only observed is not booted).
    """
    return _merged(case, (sight for check in checks_of(gate) if not check.why_not(case) for sight in check.sights))


def urgent_needs(case: NodeCase, verdict: GateVerdict) -> tuple[Need, ...]:
    """Of the needs of a gate that is not open, those whose next look could change the verdict.

    Of a check that could not be judged only the looks that do not count; of one that failed all: a mute agent is no reason to
    sweep its BMC again and again.
    """
    unsettled = {finding.check for finding in verdict.findings if finding.result in (Result.FAIL, Result.UNDETERMINED)}
    checks = (check for check in checks_of(verdict.gate) if check.id in unsettled)
    return _merged(case, (sight for check in checks for sight in _unsettling(case, check)))


def _unsettling(case: NodeCase, check: Check) -> tuple[Sight, ...]:
    blocked = tuple(sight for sight in check.sights if not sight.optional and isinstance(usable_look(case, sight), Blocked))
    return blocked or check.sights


def _merged(case: NodeCase, sights: Iterable[Sight]) -> tuple[Need, ...]:
    ages: dict[tuple[Kind, Witness], float] = {}
    for sight in sights:
        for witness in sight.witnesses:
            if not _is_premature(case, sight, witness):
                age = _due_age(case, sight, witness)
                ages[sight.kind, witness] = min(age, ages.get((sight.kind, witness), age))
    return tuple(Need(kind=kind, witness=witness, max_age_s=age) for (kind, witness), age in sorted(ages.items()))


def _is_premature(case: NodeCase, sight: Sight, witness: Witness) -> bool:
    is_early = sight.since_boot and boot_floor(case, witness) == 0.0
    return witness is Witness.OUT_OF_BAND and is_early and not case.observe_only


def _due_age(case: NodeCase, sight: Sight, witness: Witness) -> float:
    look = case.seen(sight.kind, witness)
    is_of_an_earlier_boot = sight.since_boot and look is not None and look.seen_at < boot_floor(case, witness)
    return 0.0 if is_of_an_earlier_boot else sight.max_age_s / 2
