"""Which out-of-band looks are due: the union of what the judged gates need. Observers own no freshness policy."""

from collections.abc import Mapping
from dataclasses import replace

from metalwright.gates.due import needs_of, urgent_needs
from metalwright.model.case import NodeCase
from metalwright.model.ids import Instant
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.model.observation import Kind, Need, Witness

RED_LOOK_S = 30.0
"""How soon a gate that is not open is looked at again: a repaired part should show within the minute."""

FAILED_LOOK_S = 5.0
"""First pause after a look that failed; a mute BMC is asked again, not hammered."""


def due_kinds(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> tuple[Kind, ...]:
    """Kinds to read from the BMC now."""
    return tuple(sorted({need.kind for need, at in _look_times(case, verdicts) if at <= case.now}))


def next_look(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Instant:
    """When the next look is due, if nothing else happens."""
    return min((at for _, at in _look_times(case, verdicts)), default=case.now + RED_LOOK_S)


def _look_times(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> list[tuple[Need, Instant]]:
    """When each out-of-band need of the judged gates must be read (again)."""
    times = []
    for gate, verdict in verdicts.items():
        regular = needs_of(gate, case)
        urgent = () if verdict.is_open else urgent_needs(case, verdict)
        soon = (replace(need, max_age_s=min(need.max_age_s, RED_LOOK_S * case.patience)) for need in urgent)
        times += [(need, look_at(case, need)) for need in (*regular, *soon) if need.witness is Witness.OUT_OF_BAND]
    return times


def look_at(case: NodeCase, need: Need) -> Instant:
    """The moment a need is due: at once if never seen, soon after a failure, else when it turns stale."""
    look = case.seen(need.kind, need.witness)
    if look is None:
        return case.now
    pause = min(FAILED_LOOK_S, need.max_age_s) if look.body is None else need.max_age_s
    return look.seen_at + pause
