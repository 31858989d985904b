"""The `firmware` gate: every component runs the version that the spec's baseline names."""

from metalwright.gates.firmware import baseline

CHECKS = (baseline.CHECK,)
