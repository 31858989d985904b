"""One turn for a batch of nodes: load, judge and decide (pure), commit in one transaction, then start what was decided."""

from collections.abc import Sequence
from dataclasses import dataclass

from metalwright.model.ids import NodeName, Subject, node_of
from metalwright.planner.decide import decide
from metalwright.planner.decision import Act, Look
from metalwright.ports import Clock, Fence, Store
from metalwright.service.cases import SiteContext, node_case
from metalwright.service.changes import node_change
from metalwright.service.machines import Machines


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDesk:
    """What every turn of a worker uses."""

    store: Store
    machines: Machines
    boot_key: bytes
    clock: Clock


async def take_turns(desk: TurnDesk, context: SiteContext, fence: Fence, subjects: Sequence[Subject]) -> None:
    """Each subject's next move. Takes no input but the store: a restart and a normal turn are the same path.

    An order that lost the compare-and-swap is simply not acted on; its next turn sees the winner.
    """
    rows = [row for row in await desk.store.load(subjects) if node_of(row.subject) in context.nodes]
    now = desk.clock.now()
    cases = [node_case(context, row, now, fence.epoch) for row in rows]
    decisions = [decide(case) for case in cases]
    ordered = sum(decision.order is not None for decision in decisions)
    numbers = iter(await desk.store.next_order_numbers(ordered) if ordered else ())
    changes = [node_change(case, row, decision, numbers, desk.boot_key) for case, row, decision in zip(cases, rows, decisions, strict=True)]
    lost = set(await desk.store.commit(changes, fence))
    for row, decision in zip(rows, decisions, strict=True):
        if row.subject not in lost and isinstance(decision.action, Look | Act):
            node = context.nodes[node_of(row.subject) or NodeName("")]
            desk.machines.start(row.subject, node, fence, decision.action)
