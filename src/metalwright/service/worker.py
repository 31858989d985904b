"""A worker: renews its leases, takes the turns that are due, commits what machines brought, sequences evidence.

Every loop re-reads the store. What happened before a crash is what the rows say.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable

from metalwright.model.errors import FencedError, TemporaryError
from metalwright.model.ids import Subject, WorkerId
from metalwright.ports import SITE_SHARD, BmcFactory, Clock, Fence, NodeChange, Store
from metalwright.service.leases import RENEW_S, Leases
from metalwright.service.machines import Acted, Looked, Machines, Result
from metalwright.service.site import SiteTurn
from metalwright.service.turn import TurnDesk, take_turns

log = logging.getLogger(__name__)

BATCH = 200
"""Nodes in one turn: more makes one transaction long enough to delay others, fewer makes many commits."""
IDLE_S = 0.25
GROUP_S = 0.02


class Worker:
    """Runs until cancelled. Several of them may share one PostgreSQL store."""

    def __init__(self, *, worker: WorkerId, store: Store, bmcs: BmcFactory, site: SiteTurn, boot_key: bytes, clock: Clock) -> None:
        self.name = worker
        self._store, self._site, self._clock = store, site, clock
        self.leases = Leases(store, worker, clock)
        self.machines = Machines(bmcs, self.leases, clock, self._on_result)
        self._desk = TurnDesk(store=store, machines=self.machines, boot_key=boot_key, clock=clock)
        self._results: list[Result] = []
        self._wake = asyncio.Event()
        self._shard_of: dict[Subject, str] = {}
        self.turned: set[Subject] = set()
        """Whose turn was taken here at least once: what the store says of them is no longer what a former run left."""

    async def run(self) -> None:
        """All loops, joined; releases the leases at the end."""
        try:
            await self._renew()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forever(self._renew, RENEW_S))
                group.create_task(self._forever(self._site_turn, 0.5))
                group.create_task(self._forever(self._turns, 0.0))
                group.create_task(self._listen())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from several  # one loop's error ends the others
        finally:
            await self.machines.close()
            await self._leave()

    async def _leave(self) -> None:
        """The leader sequences what is pending first; nobody waits for our leases to end."""
        try:
            if SITE_SHARD in self.leases.held():
                await self._site.sequence()
            await self.leases.release()
        except TemporaryError as error:
            log.warning("%s; the leases end by themselves", error.message)

    def wake(self) -> None:
        """Something changed: look now."""
        self._wake.set()

    async def _forever(self, step: Callable[[], "asyncio.Future[None] | object"], pause_s: float) -> None:
        while True:
            try:
                await step()  # type: ignore[misc]
            except FencedError as fenced:
                log.info("%s", fenced.message)
            except TemporaryError as error:
                log.warning("%s; trying again in %.0f s", error.message, error.retry_after_s)
                await asyncio.sleep(min(error.retry_after_s, RENEW_S))
            await asyncio.sleep(pause_s)

    async def _renew(self) -> None:
        lost = await self.leases.renew()
        self.machines.renewed()
        if lost:
            log.warning("lost %s", ", ".join(sorted(lost)))
            self.machines.drop(lost, lambda subject: self._shard_of.get(subject, ""))

    async def _site_turn(self) -> None:
        fence = self.leases.held().get(SITE_SHARD)
        if fence is not None:
            await self._site.take(fence)
        else:
            await self._site.refresh()

    async def _turns(self) -> None:
        """One round: commit results, take what is due, then sleep until something wakes."""
        self._wake.clear()
        await self._commit_results()
        held, context = self.leases.held(), self._site.context
        shards = [shard for shard in held if shard != SITE_SHARD]
        busy = self.machines.busy
        taken = 0
        if shards and context is not None:
            due = await self._store.due(shards, self._clock.now(), BATCH + len(busy))
            batches: dict[str, list[Subject]] = defaultdict(list)
            for shard, subject in due:
                if subject not in busy:
                    batches[shard].append(subject)
                    self._shard_of[subject] = shard
            for shard, subjects in batches.items():
                taken += len(subjects)
                await take_turns(self._desk, await self._site.with_papers() or context, held[shard], subjects)
                self.turned.update(subjects)
        if not taken and not self._results:
            await self._sleep()

    async def _sleep(self) -> None:
        try:
            async with asyncio.timeout(IDLE_S):
                await self._wake.wait()
            await asyncio.sleep(GROUP_S)  # let a burst of results come together for one commit
        except TimeoutError:
            return

    def _on_result(self, result: Result) -> None:
        self._results.append(result)
        self._wake.set()

    async def _commit_results(self) -> None:
        """Group commit, per shard; results of a lost shard are dropped: its new worker looks for itself."""
        results, self._results = self._results, []
        by_fence: dict[Fence, list[Result]] = defaultdict(list)
        for result in results:
            by_fence[result.fence].append(result)
        for fence, group in by_fence.items():
            try:
                await self._store.record([seen for result in group if isinstance(result, Looked) for seen in result.observations], fence)
                await self._store.commit([self._acted(result) for result in group if isinstance(result, Acted)], fence)
            except FencedError as fenced:
                log.info("%s", fenced.message)
            except TemporaryError:
                self._results.extend(group)
                raise

    def _acted(self, result: Acted) -> NodeChange:
        return NodeChange(subject=result.subject, next_due_at=self._clock.now(), runs=(result.run,), keep_waiting=True)

    async def _listen(self) -> None:
        async for _ in self._store.changes():
            self._wake.set()
