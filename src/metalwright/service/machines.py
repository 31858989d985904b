"""Hardware work outside turns: one task per machine at a time, each with a deadline, results handed back for a group commit."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from metalwright.executor.run import execute
from metalwright.model.errors import FencedError, MetalwrightError
from metalwright.model.ids import Subject
from metalwright.model.observation import Kind, Observation, Witness
from metalwright.model.spec import NodeSpec
from metalwright.model.work import Failed, Outcome, Started, StepRun, StepState, Waiting
from metalwright.observer.look import look
from metalwright.planner.decision import Act, Look
from metalwright.ports import Bmc, BmcAction, BmcFactory, Clock, Fence
from metalwright.service.leases import Leases

log = logging.getLogger(__name__)

ACT_DEADLINE_S = 20.0
"""A slow BMC takes some seconds for each of the three requests of a boot. The watchdog of the lease ends an action too, if no renewal
comes in between: whatever a frozen worker was about to send is cancelled when it wakes, before anything else runs."""
LOOK_DEADLINE_S = 240.0
"""A full inventory of a slow BMC takes 2 to 3 minutes (firmware inventory of a DGX H100 with its NICs)."""
IN_FLIGHT = 96
"""BMCs worked on at once by one worker. Each holds 2.4 MB of documents until its facts are made, and from some 50 on CPU is the limit
(docs/redfish-sweep.md): more costs memory and is no faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look brought."""

    subject: Subject
    fence: Fence
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """What an attempt at a step came to."""

    subject: Subject
    fence: Fence
    run: StepRun


Result = Looked | Acted


class Machines:
    """Runs looks and acts. `on_result` is called in the event loop's thread."""

    def __init__(self, bmcs: BmcFactory, leases: Leases, clock: Clock, on_result: Callable[[Result], None]) -> None:
        self._bmcs, self._leases, self._clock, self._on_result = bmcs, leases, clock, on_result
        self._tasks: dict[Subject, asyncio.Task[None]] = {}
        self._open: OrderedDict[tuple[Subject, str], Bmc] = OrderedDict()
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._acts: dict[asyncio.Timeout, float] = {}
        """Of each action in flight: when its own deadline is."""

    @property
    def busy(self) -> frozenset[Subject]:
        """Subjects with a task in flight: turns leave them alone."""
        return frozenset(self._tasks)

    def start(self, subject: Subject, node: NodeSpec, fence: Fence, action: Look | Act) -> None:
        """Begin; the subject must not be busy."""
        task = asyncio.create_task(self._run(subject, node, fence, action), name=f"{subject} {type(action).__name__}")
        self._tasks[subject] = task

    def renewed(self) -> None:
        """The leases were renewed: actions in flight may go on until the watchdog's new end."""
        for timeout, deadline in self._acts.items():
            if not timeout.expired():
                timeout.reschedule(min(deadline, self._watchdog()))

    def _watchdog(self) -> float:
        """When the leases are no longer good, by the event loop's clock."""
        return asyncio.get_running_loop().time() + self._leases.left_s()

    def drop(self, shards: frozenset[str], shard_of: Callable[[Subject], str]) -> None:
        """Cancel what is in flight on shards that were lost."""
        for subject, task in list(self._tasks.items()):
            if shard_of(subject) in shards:
                task.cancel()

    async def close(self) -> None:
        """Cancel all tasks and end every BMC session."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await asyncio.gather(*(bmc.close() for bmc in self._open.values()), return_exceptions=True)
        self._open.clear()

    async def _run(self, subject: Subject, node: NodeSpec, fence: Fence, action: Look | Act) -> None:
        try:
            async with self._slots:
                if isinstance(action, Look):
                    result: Result = await self._look(subject, node, fence, action)
                else:
                    result = await self._act(subject, node, fence, action)
        except FencedError:
            return  # the successor reads the intent and resolves it
        finally:
            self._tasks.pop(subject, None)
        self._on_result(result)

    async def _look(self, subject: Subject, node: NodeSpec, fence: Fence, action: Look) -> Looked:
        try:
            bmc = await self._bmc(subject, node)
            async with asyncio.timeout(LOOK_DEADLINE_S):
                return Looked(subject=subject, fence=fence, observations=await look(bmc, action.kinds))
        except TimeoutError:
            return self._nothing_seen(subject, fence, action, f"no complete answer within {LOOK_DEADLINE_S:.0f} s", "timeout")
        except FencedError:
            raise
        except MetalwrightError as error:  # on our side: an account that cannot be resolved, a pin that cannot be read
            return self._nothing_seen(subject, fence, action, _words(error), "unasked")
        except Exception as error:  # the loop's border: one machine's crash is that machine's finding, and the site goes on
            log.exception("a look at %s crashed", subject)
            return self._nothing_seen(subject, fence, action, f"{type(error).__name__}: {error}", "crash")

    def _nothing_seen(self, subject: Subject, fence: Fence, action: Look, why: str, failure_class: str) -> Looked:
        observations = tuple(
            Observation(
                subject=subject,
                kind=kind,
                witness=Witness.OUT_OF_BAND,
                seen_at=self._clock.now(),
                body=None,
                failure=why,
                failure_class=failure_class,
            )
            for kind in action.kinds
        )
        return Looked(subject=subject, fence=fence, observations=observations)

    async def _act(self, subject: Subject, node: NodeSpec, fence: Fence, action: Act) -> Acted:
        deadline = asyncio.get_running_loop().time() + ACT_DEADLINE_S
        timeout = asyncio.timeout_at(min(deadline, self._watchdog()))
        try:
            async with timeout:
                self._acts[timeout] = deadline
                bmc = _GuardedBmc(await self._bmc(subject, node), self._leases, fence)
                outcome = await execute(bmc, action.step, action.run)
        except TimeoutError:
            self._leases.require(fence)
            outcome = Waiting(reason=f"the BMC did not finish within {ACT_DEADLINE_S:.0f} s", retry_after_s=5.0)
        except FencedError:
            raise
        except MetalwrightError as error:
            outcome = Waiting(reason=_words(error), retry_after_s=15.0)
        except Exception as error:  # the loop's border, as for looks
            log.exception("an action on %s crashed", subject)
            outcome = Failed(fault=f"metalwright failed: {type(error).__name__}: {error}", needs_person=True)
        finally:
            self._acts.pop(timeout, None)
        return Acted(subject=subject, fence=fence, run=self._outcome(action.run, outcome))

    def _outcome(self, run: StepRun, outcome: Outcome) -> StepRun:
        now = self._clock.now()
        match outcome:
            case Started(detail=detail):
                return replace(run, state=StepState.STARTED, detail=detail, retry_at=None)
            case Waiting(reason=reason, retry_after_s=after):
                return replace(run, detail=reason, retry_at=now + after)
            case Failed(fault=fault, needs_person=needs_person):
                return replace(run, state=StepState.FAILED, detail=fault, ended_at=now, retry_at=now, needs_person=needs_person)

    async def _bmc(self, subject: Subject, node: NodeSpec) -> Bmc:
        """The node's driver, kept open between tasks; the least used is closed beyond the limit."""
        key = (subject, node.bmc)  # a spec may give the node another BMC while this process lives
        bmc = self._open.pop(key, None) or self._bmcs.open(node)
        self._open[key] = bmc
        if len(self._open) > IN_FLIGHT:
            idle = next((other for other in self._open if other[0] not in self._tasks), None)
            if idle is not None:
                await self._open.pop(idle).close()
        return bmc


def _words(error: MetalwrightError) -> str:
    return error.message + (f" ({error.hint})" if error.hint else "")


class _GuardedBmc:
    """A BMC that asks the lease before every action."""

    def __init__(self, bmc: Bmc, leases: Leases, fence: Fence) -> None:
        self._bmc, self._leases, self._fence = bmc, leases, fence

    async def read(self, kind: Kind) -> Observation:
        return await self._bmc.read(kind)

    async def act(self, action: BmcAction) -> None:
        self._leases.require(self._fence)
        await self._bmc.act(action)

    async def close(self) -> None:
        await self._bmc.close()
