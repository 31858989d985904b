"""Runs `apply` in child processes that end themselves with SIGKILL between two steps, until one comes to its end.

Every write to the store, every memory of the signer and every action on a BMC has a name that says what it means (`run write-image 1
started`, `append`, `reset`). Each name kills once per site, right before or right after it happens: the file `killed.txt` remembers.
"""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from metalwright.cli.board import board_code
from metalwright.evidence.sequence import Batch
from metalwright.model.ids import Subject
from metalwright.model.spec import NodeSpec
from metalwright.ports import Bmc, BmcAction, BmcFactory, LogSigner, NodeChange, SetBoot, Store
from metalwright.service.apply import ApplyOptions, applying
from metalwright.service.wiring import Parts

Moment = Literal["before", "after"]

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.kit.killing"])  # a child begins in milliseconds, not in the seconds that imports take


@dataclass(frozen=True, kw_only=True)
class Killed:
    """How a site came to its end. `points`: the names that killed, in order; `exit_code` of the run that was left alone."""

    points: tuple[str, ...]
    exit_code: int


def apply_killed_at(site: Path, family: Sequence[str], moment: Moment, *, most: int = 100) -> Killed:
    """Apply again and again until no new point of the family (words that names begin with) kills any more."""
    notes = site / "killed.txt"
    for _ in range(most):
        child = _processes.Process(target=_apply, args=(site, tuple(family), moment, notes))
        child.start()
        child.join(180)
        assert child.exitcode is not None, f"hangs after {_read(notes)}"
        if child.exitcode != -signal.SIGKILL:
            return Killed(points=tuple(_read(notes)), exit_code=child.exitcode)
    raise AssertionError(f"killed {most} times and never at an end: {_read(notes)}")


def _read(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


def _apply(site: Path, family: tuple[str, ...], moment: Moment, notes: Path) -> None:
    """In the child: what the command line does, with the parts wrapped. Exit code as the command's; 99 when it timed out."""
    raise SystemExit(asyncio.run(_run(site, _Trap(family, moment, notes))))


async def _run(site: Path, trap: "_Trap") -> int:
    def decorate(parts: Parts) -> Parts:
        return Parts(store=_Store(parts.store, trap), signer=_Signer(parts.signer, trap), bmcs=_Bmcs(parts.bmcs, trap))

    async with applying(site, ApplyOptions(timeout_s=120.0), decorate=decorate) as run:
        await run.finished()
        board = await run.control.board()
    return 99 if run.timed_out else board_code(board)


class _Trap:
    """Ends this process at the first point of its family that has not ended one before."""

    def __init__(self, family: tuple[str, ...], moment: Moment, notes: Path) -> None:
        self._family, self._moment, self._notes = family, moment, notes
        self._known = set(_read(notes))

    async def around(self, names: Sequence[str], work: Callable[[], Any]) -> Any:
        self.at("before", names)
        result = await work()
        self.at("after", names)
        return result

    def at(self, moment: Moment, names: Sequence[str]) -> None:
        new = sorted({name for name in names if name.startswith(self._family)} - self._known)
        if moment == self._moment and new:
            with self._notes.open("a") as notes:
                notes.write("".join(f"{name}\n" for name in new))
            os.kill(os.getpid(), signal.SIGKILL)


class _Store:
    """The real store; what it writes is named."""

    def __init__(self, real: Store, trap: _Trap) -> None:
        self._real, self._trap = real, trap
        self._steps: dict[tuple[int, int], str] = {}

    def __getattr__(self, name: str) -> Any:
        """What only reads, and claims of leases, which happen all the time."""
        return getattr(self._real, name)

    def changes(self) -> AsyncIterator[Subject]:
        return self._real.changes()

    async def adopt_spec(self, *given: Any) -> Any:
        return await self._trap.around(["adopt spec"], lambda: self._real.adopt_spec(*given))

    async def put_site_plan(self, plan: Any) -> Any:
        return await self._trap.around(["site plan"], lambda: self._real.put_site_plan(plan))

    async def next_order_numbers(self, count: int) -> Any:
        return await self._trap.around(["order numbers"], lambda: self._real.next_order_numbers(count))

    async def grant(self, permits: Any) -> Any:
        return await self._trap.around(["permits"], lambda: self._real.grant(permits))

    async def load(self, subjects: Sequence[Subject]) -> Any:
        """Reads; a commit names its runs by the steps seen here."""
        rows = await self._real.load(subjects)
        for order in (row.order for row in rows if row.order is not None):
            self._steps |= {(order.number, index): step.kind for index, step in enumerate(order.body.steps)}
        return rows

    async def commit(self, changes: Sequence[NodeChange], fence: Any) -> Any:
        names = [name for change in changes for name in _names(change, self._steps)]
        return await self._trap.around(names, lambda: self._real.commit(changes, fence))

    async def record(self, observations: Any, fence: Any) -> Any:
        names = [f"seen {each.kind} by {each.witness}" for each in observations]
        return await self._trap.around(names, lambda: self._real.record(observations, fence))

    async def claim_grant(self, token_hash: str, claimed: Any, now: float) -> Any:
        return await self._trap.around([f"claim {claimed.stage}"], lambda: self._real.claim_grant(token_hash, claimed, now))

    async def progress(self, operation: Any, boot_id: str) -> Any:
        quarter = 4 * operation.units_done // max(1, operation.units_total)
        name = f"progress {operation.state} {quarter}/4"
        return await self._trap.around([name], lambda: self._real.progress(operation, boot_id))

    async def append(self, entries: Any, checkpoint: Any, previous_size: int) -> Any:
        names = [f"append {entry.kind} of {entry.about.partition(':')[0]}" for entry in entries]
        return await self._trap.around(names, lambda: self._real.append(entries, checkpoint, previous_size))


def _names(change: NodeChange, steps: Mapping[tuple[int, int], str]) -> Iterator[str]:
    """What one node's part of a commit means; a commit that only moves the due time has no name of its own."""
    if change.order is not None:
        yield f"turn orders {' '.join(step.kind for step in change.order.body.steps)}"
    for run in change.runs:
        yield f"turn {steps.get((run.order, run.index), 'step')} {run.state}"
    for verdict in change.verdicts:
        yield f"turn verdict {verdict.gate} {verdict.colour}"
    if change.release_permit:
        yield "turn order done"
    if change.waiting is not None:
        yield f"turn waits {change.waiting.wait}"


class _Signer:
    """The real signer; its memory is a point."""

    def __init__(self, real: LogSigner, trap: _Trap) -> None:
        self._real, self._trap = real, trap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def remember(self, batch: Batch) -> bool:
        kinds = sorted({entry.kind for entry in batch.entries})
        names = [f"signer {' '.join(kinds)} from {'nothing' if not batch.before.size else 'records'}"]
        self._trap.at("before", names)
        is_remembered = self._real.remember(batch)
        self._trap.at("after", names)
        return is_remembered


class _Bmcs:
    def __init__(self, real: BmcFactory, trap: _Trap) -> None:
        self._real, self._trap = real, trap

    def open(self, node: NodeSpec) -> Bmc:
        return _Bmc(self._real.open(node), self._trap)


class _Bmc:
    """A real driver; its actions are points."""

    def __init__(self, real: Bmc, trap: _Trap) -> None:
        self._real, self._trap = real, trap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def act(self, action: BmcAction) -> None:
        name = f"bmc boot {action.target}" if isinstance(action, SetBoot) else f"bmc power {getattr(action, 'to', '')}"
        await self._trap.around([name], lambda: self._real.act(action))
