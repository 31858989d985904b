"""The `plan` gate: what must be decided before anything is powered on. It reads the spec, never the machines."""

from metalwright.gates.plan import depth, intent, people, purchase, racks, system

CHECKS = (
    intent.CAPACITY,
    intent.OBJECTIVES,
    people.OWNERS,
    depth.CHECK,
    intent.ACCEPTANCE,
    intent.RETIRE,
    racks.POWER,
    racks.COOLING,
    racks.SPACE,
    purchase.CHECK,
    system.CHECK,
)
