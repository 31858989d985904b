"""Verdicts for people: the recorded ones, or judged now from what is known. Records nothing."""

from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.gates.judge import judge_node, judge_site
from metalwright.model.case import NodeCase, SiteCase
from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName, Subject, node_of, node_subject
from metalwright.model.judgement import Gate, GateVerdict
from metalwright.service.cases import node_case
from metalwright.service.clock import SystemClock
from metalwright.service.preview import known_waivers, site_context
from metalwright.service.site_check import plan_case
from metalwright.service.wiring import open_reader


async def judge_now(folder: Path, gate: Gate, node: str | None) -> tuple[GateVerdict, ...]:
    """The gate on every node (or one), over the observations of the store and the present time."""
    stored = read_site(folder)
    now = SystemClock().now()
    async with open_reader(folder) as store:
        waivers = await known_waivers(folder, store, stored, now)
        site_verdict = judge_site(plan_case(folder, stored, waivers))
        if gate is Gate.PLAN:
            return (site_verdict,)
        if store is None:
            return ()
        context = site_context(folder, stored, site_verdict, gate, waivers)
        rows = await store.load(_wanted(tuple(context.nodes), node))
        return tuple(judge_node(node_case(context, row, now, 0), gate) for row in rows if node_of(row.subject) in context.nodes)


async def case_of(folder: Path, node: str) -> NodeCase:
    """What is known of one node now; InputError for a node that is not there or was never looked at."""
    stored, now = read_site(folder), SystemClock().now()
    async with open_reader(folder) as store:
        waivers = await known_waivers(folder, store, stored, now)
        context = site_context(folder, stored, judge_site(plan_case(folder, stored, waivers)), Gate.OS, waivers)
        rows = await store.load(_wanted(tuple(context.nodes), node)) if store else ()
    if not rows:
        raise InputError(f"nothing is known of {node} yet", hint=f"metalwright apply {folder}")
    return node_case(context, rows[0], now, 0)


async def site_case_of(folder: Path) -> SiteCase:
    """What the plan gate is judged on now."""
    stored = read_site(folder)
    async with open_reader(folder) as store:
        return plan_case(folder, stored, await known_waivers(folder, store, stored, SystemClock().now()))


async def recorded(folder: Path, gate: Gate, node: str | None) -> tuple[GateVerdict, ...]:
    """The last recorded verdict of the gate on every node (or one)."""
    async with open_reader(folder) as store:
        stored = await store.current_spec() if store else None
        if store is None or stored is None:
            return ()
        site = Subject(f"site:{stored.spec.site.name}")
        subjects = [site] if gate is Gate.PLAN else _wanted(tuple(each.name for each in stored.spec.nodes), node)
        verdicts = [verdict for subject in subjects for verdict in await store.verdicts(subject)]
        return tuple(verdict for verdict in verdicts if verdict.gate is gate)


def _wanted(names: tuple[NodeName, ...], node: str | None) -> list[Subject]:
    if node is not None and node not in names:
        raise InputError(f"no node {node} in this site", hint="metalwright node list")
    return [node_subject(name) for name in names if node is None or name == node]
