"""Resets, done once. A reset is an edge action: whether an interrupted attempt happened is read from the BMC, not guessed."""

from collections.abc import Sequence

from metalwright.model.errors import MachineFault, TemporaryError
from metalwright.model.observation import Kind, PowerSeen
from metalwright.model.work import Failed, Outcome, Started, StepRun, Waiting
from metalwright.ports import Bmc, BmcAction


async def act_once(bmc: Bmc, run: StepRun, actions: Sequence[BmcAction], what: str) -> Outcome:
    """Do the actions unless the last reset time shows that this attempt's reset already happened.

    A BMC without LastResetTime cannot tell; then the reset is done again, which loses a boot in progress and nothing else:
    a node is only reset by a step, and no step before this one is still in flight.
    """
    seen = await bmc.read(Kind.BMC_POWER)
    if not isinstance(seen.body, PowerSeen):
        return Waiting(reason=f"the BMC does not answer: {seen.failure}", retry_after_s=5.0)
    before = run.baseline.get("last_reset_at", "")
    if before and seen.body.last_reset_at and seen.body.last_reset_at != before:
        return Started(detail=f"{what}: already done before an interruption")
    try:
        for action in actions:
            await bmc.act(action)
    except TemporaryError as error:
        return Waiting(reason=error.message, retry_after_s=error.retry_after_s)
    except MachineFault as fault:
        return Failed(fault=f"{fault.message}" + (f" ({fault.hint})" if fault.hint else ""), needs_person=True)
    return Started(detail=what)
