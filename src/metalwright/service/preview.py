"""What a turn would decide now, for every node: the answer of `metalwright plan`. Reads the store, writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.gates.judge import judge_site
from metalwright.model.case import NodeCase, Waiver
from metalwright.model.ids import Digest, Instant, Subject, node_subject
from metalwright.model.judgement import Colour, Gate, GateVerdict
from metalwright.model.observation import Witness
from metalwright.model.spec import StoredSpec
from metalwright.model.work import SitePlan
from metalwright.planner import compose, step
from metalwright.planner.decide import judged
from metalwright.ports import NodeRows, Store
from metalwright.service.cases import SiteContext, node_case
from metalwright.service.clock import SystemClock
from metalwright.service.people import People
from metalwright.service.site_check import find_image, plan_case
from metalwright.service.trusting import trust_in_force
from metalwright.service.wiring import open_reader
from metalwright.store.specs import asked_elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """One node that is not at rest."""

    node: str
    goal: str
    steps: tuple[str, ...]
    reason: str
    open_order: int | None
    """Number of an order already under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    site: str
    plan: str
    orders: int
    lines: tuple[PlanLine, ...]
    exit_code: int


async def preview(folder: Path, until: Gate) -> Preview:
    """SpecError for a broken spec; a site that was never applied is planned from nothing seen."""
    stored, now = read_site(folder), SystemClock().now()
    async with open_reader(folder) as store:
        known = await _known_rows(store, stored)
        waivers = await known_waivers(folder, store, stored, now)
    verdict = judge_site(plan_case(folder, stored, waivers))
    context = site_context(folder, stored, verdict, until, waivers)
    lines, red = [], verdict.colour is Colour.RED
    for node in stored.spec.nodes:
        subject = node_subject(node.name)
        case = node_case(context, known.get(subject) or _nothing_seen(subject), now, 0)
        verdicts = judged(case)
        red = red or any(judged_gate.colour is Colour.RED for judged_gate in verdicts.values())
        if line := _line(case, verdicts):
            lines.append(line)
    orders = sum(bool(line.steps) and line.open_order is None for line in lines)
    code = 1 if red else 2 if lines or verdict.colour is Colour.UNDETERMINED else 0
    return Preview(site=stored.spec.site.name, plan=verdict.colour, orders=orders, lines=tuple(lines), exit_code=code)


async def known_waivers(folder: Path, store: Store | None, stored: StoredSpec, now: Instant) -> tuple[Waiver, ...]:
    """Those that count now; none for a site that was never applied."""
    if store is None:
        return ()
    people = People(store, folder, lambda: trust_in_force(folder))
    await people.refresh(stored)
    return people.in_force(now)


def site_context(folder: Path, stored: StoredSpec, verdict: GateVerdict, until: Gate, waivers: tuple[Waiver, ...] = ()) -> SiteContext:
    """The site as its next turn would see it, with a site plan as that turn would make it."""
    name = stored.spec.system.image if stored.spec.system else ""
    image, problem = find_image(folder, name) if name else (None, "the spec orders none")
    plan = SitePlan(
        number=0, parent=None, spec_digest=Digest(stored.digest), until=until, max_disrupted=len(stored.spec.nodes), made_at=0.0
    )
    return SiteContext(stored=stored, plan=plan, verdict=verdict, image=image, image_problem=problem, waivers=waivers)


def _line(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> PlanLine | None:
    """What would be ordered, what is under way, or why it waits; None for a node at rest."""
    if case.order is not None and step.is_open(case) and case.order.body.wish_digest == case.wish_digest:
        body = case.order.body
        left = tuple(each.kind for index, each in enumerate(body.steps) if index not in step.proven(case))
        return PlanLine(node=case.node.name, goal=body.goal, steps=left, reason=body.reason, open_order=case.order.number)
    answers = compose.proposals(case, verdicts)
    proposal, hold = compose.chosen(answers), compose.first_hold(answers)
    if proposal is not None:
        kinds = tuple(each.kind for each in proposal.steps)
        return PlanLine(node=case.node.name, goal=proposal.goal, steps=kinds, reason=proposal.reason, open_order=None)
    if hold is not None:
        return PlanLine(node=case.node.name, goal=hold.goal, steps=(), reason=f"waits for {hold.wait}: {hold.text}", open_order=None)
    return None


async def _known_rows(store: Store | None, stored: StoredSpec) -> Mapping[Subject, NodeRows]:
    """What the store holds, as it will once this spec is adopted; nothing for a site that was never applied."""
    if store is None:
        return {}
    rows = await store.load([row.subject for row in await store.board()])
    applied = await store.current_spec()
    moved = asked_elsewhere(applied.spec, stored.spec) if applied else frozenset()
    return {row.subject: _without_bmc(row) if row.subject in moved else row for row in rows}


def _without_bmc(rows: NodeRows) -> NodeRows:
    return replace(rows, observations=tuple(look for look in rows.observations if look.witness is not Witness.OUT_OF_BAND))


def _nothing_seen(subject: Subject) -> NodeRows:
    return NodeRows(
        subject=subject,
        observations=(),
        order=None,
        runs=(),
        operations=(),
        grants=(),
        rounds={},
        permit=None,
        verdicts={},
        waiting=None,
        paused=False,
        wakes=0,
    )
