"""`gate drill`: the proof that a gate can fail. One fault per check in a simulated site, one node per fault, and one node without any.

A check is proven when its fault made it fail on the faulty node's own verdict, and nothing but what the fault declares failed there. The
score is a record in the drill site's own log, which is a simulated one.
"""

import asyncio
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metalwright.agent.core import Agent
from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.secrets import resolve
from metalwright.codec.site_folder import read_site
from metalwright.gates.judge import judge_site
from metalwright.gates.registry import ALL_CHECKS, CHECKS, SITE_CHECKS
from metalwright.model.errors import InputError, TemporaryError
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import CheckId, NodeName, Subject, node_subject
from metalwright.model.judgement import Finding, Result
from metalwright.model.spec import StoredSpec
from metalwright.ports import SITE_SHARD, NodeChange
from metalwright.service.apply import ApplyOptions, applying
from metalwright.service.control import Story
from metalwright.service.image_work import build_images
from metalwright.service.leases import LEASE_S
from metalwright.service.site_check import plan_case
from metalwright.service.wiring import OpenSite, open_site
from metalwright.simulator.faults import FAULTS, Fault
from metalwright.simulator.site import SiteOptions
from metalwright.simulator.site import open_site as open_simulated
from metalwright.simulator.spec_faults import SPEC_FAULTS

DEADLINE_S = 120.0
"""From the first power-on. A mute BMC takes the longest: its look ends after some 60 s."""
SPEED, PATIENCE = 20.0, 0.2
POLL_S = 0.5
IMAGE_MIB = 16
BMC_PORT, BLOCKS = 9443, 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drilled:
    """One check. `result`: fail, undetermined (its fault can only hide what it looks at), or why it is unproven."""

    check: CheckId
    fault: str
    subject: Subject | None
    result: str
    seen: str = ""

    @property
    def is_proven(self) -> bool:
        return self.result in (Result.FAIL, Result.UNDETERMINED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Every check once. `false_alarms`: findings on a node that its fault does not declare, the node without a fault included."""

    checks: tuple[Drilled, ...]
    false_alarms: tuple[str, ...]
    took_s: float

    @property
    def proven(self) -> int:
        return sum(check.is_proven for check in self.checks)


def chosen_faults() -> Mapping[CheckId, Fault]:
    """Node check → the fault that drills it: one that turns it red, else one that leaves it undetermined; as few as can be.

    A fault that an earlier gate stops never lets its node reach a later one: it drills checks of its first gate only.
    """
    chosen: dict[CheckId, Fault] = {}
    for colour in ("turns_red", "turns_undetermined"):
        missing = {check.id for check in CHECKS} - chosen.keys()
        while best := max(FAULTS.values(), key=lambda fault: len(_at_its_first_gate(fault, colour) & missing)):
            covered = _at_its_first_gate(best, colour) & missing
            if not covered:
                break
            chosen |= dict.fromkeys(sorted(covered), best)
            missing -= covered
    return chosen


def _at_its_first_gate(fault: Fault, colour: str) -> frozenset[CheckId]:
    if colour == "turns_undetermined" and fault.turns_red:
        return frozenset()  # what stops at its own red finding says nothing of the others
    turned = [check for check in CHECKS if check.id in fault.turns_red | fault.turns_undetermined]
    return frozenset(check.id for check in turned if check.gate is turned[0].gate and check.id in getattr(fault, colour))


async def drill(folder: Path, say: Callable[[str], None]) -> Score:
    """In `folder`, which is left as the site folder that was drilled. InputError when its addresses are taken."""
    began, faults = time.monotonic(), chosen_faults()
    drilled = sorted({fault.name for fault in faults.values()})
    write_scaffold(folder, "simulated", nodes=len(drilled) + 1, name="drill")
    _place(folder, _free_block())
    await asyncio.to_thread(build_images, folder, None, lambda _: None)
    stored = read_site(folder)
    names = [node.name for node in stored.spec.nodes]
    node_of = dict(zip(drilled, names, strict=False))
    say(f"{len(drilled)} faults on {len(drilled)} nodes, none on {names[-1]}")
    findings = await _findings(folder, stored, node_of, faults, say)
    checks = (*_plan_checks(folder), *_node_checks(faults, node_of, findings))
    alarms = tuple(_false_alarms(node_of, findings))
    score = Score(checks=checks, false_alarms=alarms, took_s=time.monotonic() - began)
    await _record(folder, stored, score)
    return score


def _place(folder: Path, block: str) -> None:
    """Addresses of its own, beside whatever simulated site runs already; a small image."""
    for name, old, new in (
        ("nodes.csv", "127[.]0[.]10[.]", f"{block}."),
        ("site.yaml", "//127[.]0[.]0[.]1:", f"//{block}.254:"),
        ("images/trainer.yaml", "size_mib: .*", f"size_mib: {IMAGE_MIB}"),
    ):
        file = folder / name
        file.write_text(re.sub(old, new, file.read_text()))


def _free_block() -> str:
    """The first three bytes of a /24 of 127/8 in which nobody listens as a BMC."""
    for number in range(os.getpid() % BLOCKS, os.getpid() % BLOCKS + BLOCKS):
        block = f"127.{32 + number // 250 % 32}.{number % 250 + 1}"
        with socket.socket() as probe:
            try:
                probe.bind((f"{block}.1", BMC_PORT))
            except OSError:
                continue
            return block
    raise InputError("every block of 127/8 is in use", hint="end the simulators that still run")


async def _findings(
    folder: Path, stored: StoredSpec, node_of: Mapping[str, NodeName], faults: Mapping[CheckId, Fault], say: Callable[[str], None]
) -> Mapping[NodeName, Sequence[Finding]]:
    """Of every node, once each fault has shown what it should, or the time is up."""
    secrets = stored.spec.secrets.bmc
    user, password = resolve(secrets.user, folder).reveal(), resolve(secrets.password, folder)
    options = SiteOptions(user=user, password=password, speed=SPEED)
    async with open_simulated(stored, folder / ".simulator", Agent(), options) as site:
        for fault, node in node_of.items():
            site.faults.inject(fault, node, {})
        async with applying(folder, ApplyOptions(patience=PATIENCE, watch=True)) as run:
            until = time.monotonic() + DEADLINE_S
            while True:
                await run.finished(within_s=POLL_S)
                stories = {node.name: await _story(run.control.node, node.name) for node in stored.spec.nodes}
                findings = {name: _all_findings(story) for name, story in stories.items()}
                hidden = [check for check, fault in faults.items() if not _is_shown(check, fault, findings[node_of[fault.name]])]
                if not hidden and _is_clean(findings[stored.spec.nodes[-1].name]):
                    return findings
                if time.monotonic() > until:
                    say(f"stopped waiting for {', '.join(hidden) or 'the node without a fault'} after {DEADLINE_S:.0f} s")
                    return findings


async def _story(ask: Callable[[Subject], "asyncio.Future[Story | None] | object"], name: NodeName) -> Story | None:
    try:
        return await ask(node_subject(name))  # type: ignore[misc, no-any-return]
    except TemporaryError:
        return None


def _all_findings(story: Story | None) -> Sequence[Finding]:
    return [finding for verdict in story.verdicts for finding in verdict.findings] if story else []


def _of_check(check: CheckId, findings: Sequence[Finding]) -> Finding | None:
    """The finding that says no."""
    return next((each for each in findings if each.check == check and each.result in (Result.FAIL, Result.UNDETERMINED)), None)


def _is_shown(check: CheckId, fault: Fault, findings: Sequence[Finding]) -> bool:
    """Failed, if the fault turns it red. Otherwise held back by an attempt to look: that nobody looked yet is no fault's doing."""
    found = _of_check(check, findings)
    if found is None or check in fault.turns_red:
        return found is not None and found.result is Result.FAIL
    return not found.reason.startswith("no ")


def _is_clean(findings: Sequence[Finding]) -> bool:
    """Every node check passed or does not apply."""
    seen = {finding.check for finding in findings if finding.result in (Result.PASS, Result.NOT_APPLICABLE)}
    return {check.id for check in CHECKS} <= seen


def _plan_checks(folder: Path) -> Iterator[Drilled]:
    """From files alone: the plan with a hole, and the plan as it is."""
    case = plan_case(folder, read_site(folder))
    subject = Subject(f"site:{case.spec.site.name}")
    good = {finding.check: finding.result for finding in judge_site(case).findings}
    for check in SITE_CHECKS:
        fault = SPEC_FAULTS.get(check.id)
        if fault is None:
            yield Drilled(check=check.id, fault="", subject=None, result="no fault for it")
            continue
        judged = judge_site(fault.applied(case)).findings
        found = next((each for each in judged if each.check == check.id and each.result is Result.FAIL), None)
        if good.get(check.id) is not Result.PASS:
            yield Drilled(check=check.id, fault=fault.name, subject=subject, result="does not pass without the fault")
        elif found is None:
            yield Drilled(check=check.id, fault=fault.name, subject=subject, result="did not fail")
        else:
            yield Drilled(check=check.id, fault=fault.name, subject=subject, result=found.result, seen=found.seen)


def _node_checks(
    faults: Mapping[CheckId, Fault], node_of: Mapping[str, NodeName], findings: Mapping[NodeName, Sequence[Finding]]
) -> Iterator[Drilled]:
    for check in CHECKS:
        fault = faults.get(check.id)
        if fault is None:
            yield Drilled(check=check.id, fault="", subject=None, result="no fault for it")
            continue
        name = node_of[fault.name]
        found = _of_check(check.id, findings[name])
        is_shown = _is_shown(check.id, fault, findings[name])
        result = found.result if found and is_shown else f"did not show it: {found.result if found else 'pass'}"
        seen = (found.seen or found.reason) if found else ""
        yield Drilled(check=check.id, fault=fault.name, subject=node_subject(name), result=result, seen=seen)


def _false_alarms(node_of: Mapping[str, NodeName], findings: Mapping[NodeName, Sequence[Finding]]) -> Iterator[str]:
    fault_of = {node: FAULTS[fault] for fault, node in node_of.items()}
    for name, all_ in findings.items():
        fault = fault_of.get(name)
        declared = fault.turns_red if fault else frozenset()
        for finding in all_:
            if finding.result is Result.FAIL and finding.check not in declared:
                yield f"{finding.check} on {name} ({fault.name if fault else 'no fault'}): {finding.seen}"


async def _record(folder: Path, stored: StoredSpec, score: Score) -> None:
    """The score into the log, at once."""
    async with open_site(folder, stored, until=None, patience=1.0) as site:
        fence = next(each for each in await site.store.claim(site.worker.name, LEASE_S) if each.shard == SITE_SHARD)
        subject = Subject(f"site:{stored.spec.site.name}")
        change = NodeChange(subject=subject, next_due_at=float("inf"), statements=(_statement(site, score, subject),))
        await site.store.commit([change], fence)
        await site.site_turn.sequence()
        await site.store.release(site.worker.name)


def _statement(site: OpenSite, score: Score, subject: Subject) -> PendingStatement:
    now = site.clock.now()
    predicate = {
        "spec_digest": site.stored.digest,
        "proven": score.proven,
        "of": len(ALL_CHECKS),
        "checks": [
            {"check": each.check, "fault": each.fault, "subject": each.subject, "result": each.result, "seen": each.seen}
            for each in score.checks
        ],
        "false_alarms": list(score.false_alarms),
    }
    subjects = ((str(subject), site.stored.digest.removeprefix("sha256:")),)
    return PendingStatement(key=f"drill/{now:.6f}", kind="drill", subjects=subjects, predicate=predicate, made_at=now, about=subject)
