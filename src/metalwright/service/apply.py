"""One `apply` in one process: lock, spec, endpoints, worker, and the moment when it is done."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.model.errors import InputError, TemporaryError
from metalwright.model.ids import Subject
from metalwright.model.judgement import Gate
from metalwright.model.spec import StoredSpec
from metalwright.model.work import EXPECTED_S, Wait
from metalwright.ports import BoardRow, Store
from metalwright.service.approvals import check_adoption
from metalwright.service.clock import SystemClock
from metalwright.service.control import Board, StoreControl, is_past
from metalwright.service.leases import LEASE_S, RENEW_S
from metalwright.service.listeners import serve_endpoints
from metalwright.service.wiring import Decorate, is_taken, open_reader, open_site

POLL_S = 0.3
POLL_SHARE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """What the user asked for. `patience` multiplies every deadline. `observe_only`: look and judge, touch and boot nothing."""

    until: Gate = Gate.OS
    patience: float = 1.0
    watch: bool = False
    observe_only: bool = False
    timeout_s: float | None = None


class Applying:
    """A run under way."""

    def __init__(
        self,
        store: Store,
        options: ApplyOptions,
        worker: asyncio.Task[None] | None,
        turned: AbstractSet[Subject] = frozenset(),
        is_over_elsewhere: Callable[[], bool] = lambda: False,
    ) -> None:
        self._options, self._worker, self._turned, self._is_over_elsewhere = options, worker, turned, is_over_elsewhere
        self.control = _PatientControl(store, SystemClock())
        self.is_viewer = worker is None
        """Another process does the work; this one only shows it."""
        self.is_left_alone = False
        """That process ended, or died: whoever looked on does the work now."""
        self.began_at = time.monotonic()
        self.timed_out = False

    async def finished(self, *, within_s: float | None = None) -> bool:
        """True once every node is done or waits for a person, or whom we watch is gone; looks again until then, or for `within_s`."""
        until = time.monotonic() + within_s if within_s is not None else float("inf")
        while True:
            if self._worker is not None and self._worker.done():
                self._worker.result()  # raises what ended it
            if self._options.timeout_s is not None and time.monotonic() - self.began_at > self._options.timeout_s:
                self.timed_out = True
                return True
            if self._is_over_elsewhere():
                self.is_left_alone = True
                return True
            asked_at = time.monotonic()
            board = await self.control.board_or_none()
            cost_s = time.monotonic() - asked_at
            if board is not None and not self._options.watch and self._is_news(board) and self._is_over(board):
                return True
            if time.monotonic() >= until:
                return False
            pause_s = max(POLL_S, POLL_SHARE * cost_s)  # the board of a large site is not asked for so often
            await asyncio.sleep(min(pause_s, max(0.0, until - time.monotonic())))

    def _is_over(self, board: Board) -> bool:
        """Done, or nothing moves without a person, or everything that still moves is overdue, or the plan gate is closed."""
        until = self._options.until
        if board.until != until or not board.plan:
            return False
        if board.plan not in ("green", "waived"):
            return True
        ran_s = (time.monotonic() - self.began_at) / self._options.patience
        return all(is_at_rest(row, until, ran_s) for row in board.rows)

    def _is_news(self, board: Board) -> bool:
        """Not the words of a former run: this worker took every node's turn, or others have had the time to."""
        if time.monotonic() - self.began_at > LEASE_S + RENEW_S:
            return True
        return self._worker is not None and all(row.subject in self._turned for row in board.rows)


def is_at_rest(row: BoardRow, until: Gate, ran_s: float) -> bool:
    """Past the gate, or nothing moves without a person. A node that waits for nothing and is not past it is being looked at.

    Overdue counts once this run has itself waited as long: what a former run saw may have been mended since.
    """
    if row.waiting is None:
        return is_past(row, until)
    return row.waiting.wait is Wait.PERSON or (row.waiting.overdue and ran_s > EXPECTED_S[row.waiting.wait])


class _PatientControl(StoreControl):
    """Before the first turn there is no board yet, and a database that is away for a moment shows none either."""

    async def board_or_none(self) -> Board | None:
        try:
            return await self.board()
        except (InputError, TemporaryError):
            return None


@asynccontextmanager
async def applying(folder: Path, options: ApplyOptions, *, decorate: Decorate = lambda parts: parts) -> AsyncIterator[Applying]:
    """Start it; on exit everything is stopped and every statement sequenced. Beside a running `apply` it only looks on.

    InputError beside one that works on another spec: its greens would not be of what was asked for here.
    """
    stored = read_site(folder)
    if is_taken(folder):
        async with open_reader(folder) as store:
            if store is not None:
                await _require_same_spec(store, stored)
                yield Applying(store, options, None, is_over_elsewhere=lambda: not is_taken(folder))
                return
    async with AsyncExitStack() as stack:
        opening = open_site(
            folder, stored, until=options.until, patience=options.patience, observe_only=options.observe_only, decorate=decorate
        )
        site = await stack.enter_async_context(opening)
        await check_adoption(folder, site.store, stored, site.clock.now())
        await site.store.adopt_spec(stored, site.clock.now())
        if not options.observe_only:
            await stack.enter_async_context(serve_endpoints(site))
        worker = asyncio.create_task(site.worker.run(), name="worker")
        run = Applying(site.store, options, worker, site.worker.turned)
        try:
            yield run
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)


async def _require_same_spec(store: Store, stored: StoredSpec) -> None:
    current = await store.current_spec()
    if current is not None and current.digest != stored.digest:
        raise InputError(
            "another apply works on this site, on its files as they were when it began",
            hint="stop that one with Ctrl-C, or wait for its end, and run this command again: it goes on from there",
        )
