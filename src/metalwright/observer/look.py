"""Looks at one machine out-of-band. Owns no freshness policy: it reads what the due list names, and marks what is missing."""

from collections.abc import Sequence

from metalwright.model.observation import Kind, Observation
from metalwright.ports import Bmc


async def look(bmc: Bmc, kinds: Sequence[Kind]) -> tuple[Observation, ...]:
    """One observation per kind, in order; a kind that cannot be read is an observation with its failure."""
    return tuple([await bmc.read(kind) for kind in kinds])
