"""A decision → what is committed: order, step run, operation, boot grants, verdicts that changed, statements of them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from metalwright.codec.json_codec import digest_of, to_bytes
from metalwright.gates.plan.depth import depth_of
from metalwright.model.boot import BootGrant
from metalwright.model.case import NodeCase
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Digest, Instant, OrderNumber, node_subject
from metalwright.model.judgement import PHASE_OF, Colour, Finding, Gate, GateVerdict, Result
from metalwright.model.tokens import token_for, token_hash
from metalwright.model.work import EXPECTED_S, OrderBody, WaitingFor, WorkOrder
from metalwright.planner import step
from metalwright.planner.decision import Decision, GrantWanted, Look, Reason
from metalwright.ports import NodeChange, NodeRows
from metalwright.service.identity import identity_digest
from metalwright.service.work_records import of_a_person, people_of


def node_change(case: NodeCase, rows: NodeRows, decision: Decision, numbers: Iterator[int], boot_key: bytes) -> NodeChange:
    """Everything of one decision, to be committed in one transaction with the rest of the batch."""
    order = _order(case, decision.order, numbers) if decision.order else None
    changed = _changed_verdicts(rows, decision.verdicts, is_disrupted=step.is_open(case) or decision.order_done)
    operations = [decision.operation] if decision.operation else []
    operations += [replace(operation, cancel_wanted=True) for operation in rows.operations if operation.id == decision.cancel]
    return NodeChange(
        subject=rows.subject,
        next_due_at=min([decision.due_at, *_turns_of_waivers(case)]),
        wakes=rows.wakes,
        order=order,
        runs=(decision.run,) if decision.run else (),
        operations=tuple(operations),
        grants=tuple(_grant(case, wanted, boot_key) for wanted in decision.grants),
        verdicts=tuple(verdict for verdict, _ in changed.values()),
        verdict_digests={gate: digest for gate, (_, digest) in changed.items()},
        statements=tuple(_statements(case, decision, changed)),
        waiting=_waiting(case, decision.reason, made_progress=bool(order or decision.run or changed)),
        keep_waiting=decision.reason is None and isinstance(decision.action, Look),
        release_permit=decision.order_done,
    )


def _turns_of_waivers(case: NodeCase) -> Iterator[Instant]:
    """When a waiver begins or ends, the node is judged again, whatever else is due."""
    return (at for waiver in case.waivers for at in (waiver.starts_at, waiver.until) if at > case.now)


def _order(case: NodeCase, body: OrderBody, numbers: Iterator[int]) -> WorkOrder:
    return WorkOrder(
        number=OrderNumber(next(numbers)),
        parent=case.head,
        site_plan=case.site_plan.number if case.site_plan else 0,
        digest=digest_of(to_bytes(body)),
        made_at=case.now,
        body=body,
    )


def _grant(case: NodeCase, wanted: GrantWanted, boot_key: bytes) -> BootGrant:
    return BootGrant(
        id=wanted.id,
        node=case.node.name,
        order=case.head or OrderNumber(0),
        stage=wanted.stage,
        token_hash=token_hash(token_for(boot_key, wanted.id)),
        opens_at=wanted.opens_at,
        expires_at=wanted.expires_at,
    )


def _waiting(case: NodeCase, reason: Reason | None, *, made_progress: bool) -> WaitingFor | None:
    """A wait began when the node last moved: looking again in between is no progress, so that overdue can be told."""
    if reason is None:
        return None
    since = case.now if case.waiting is None or made_progress else case.waiting.since
    waited_s = case.now - max(since, case.listening_since)
    return WaitingFor(wait=reason.wait, text=reason.text, since=since, overdue=waited_s > EXPECTED_S[reason.wait] * case.patience)


# -- verdicts and statements ---------------------------------------------------------------------------------------------------


def _changed_verdicts(
    rows: NodeRows, verdicts: Mapping[Gate, GateVerdict], *, is_disrupted: bool
) -> dict[Gate, tuple[GateVerdict, Digest]]:
    """Verdicts whose content differs from the last recorded one.

    A gate that nobody could judge yet makes no record; once it was green or red, every change does, to undetermined too: unless our own
    order is restarting the machine (`is_disrupted`), when nobody could look and nothing is known to have changed.
    """
    changed = {}
    for gate, verdict in verdicts.items():
        digest, mark = content_digest(verdict), rows.verdicts.get(gate)
        if mark is not None and mark.digest == digest:
            continue
        if is_disrupted and verdict.colour is Colour.UNDETERMINED:
            continue
        changed[gate] = (verdict, digest)
    return changed


def content_digest(verdict: GateVerdict) -> Digest:
    """Over the colour and every finding; checks keep ages and times out of their texts, so an unchanged node gives the same digest."""
    return digest_of(to_bytes((verdict.colour, verdict.findings), shape=tuple[Colour, tuple[Finding, ...]]))


def _statements(case: NodeCase, decision: Decision, changed: Mapping[Gate, tuple[GateVerdict, Digest]]) -> Iterator[PendingStatement]:
    for gate, (verdict, digest) in changed.items():
        if verdict.colour is Colour.UNDETERMINED and gate not in case.standing:
            continue
        if verdict.colour is Colour.UNDETERMINED and case.standing.get(gate) is Colour.UNDETERMINED:
            continue
        yield _statement(case, "gate", f"gate/{case.node.name}/{gate}/{digest}/{case.now:.6f}", gate_predicate(case, verdict))
    if made := of_a_person(case, decision.run):
        key, predicate = made
        yield _statement(case, "work", key, predicate)
    if decision.order_done and case.order is not None and decision.run is not None:
        yield _statement(case, "work", f"work/{case.order.number}/done", _work_predicate(case, decision))


def _statement(case: NodeCase, kind: str, key: str, predicate: Mapping[str, Any]) -> PendingStatement:
    subjects = ((f"node:{case.node.serial}", identity_digest(case)),)
    return PendingStatement(
        key=key, kind=kind, subjects=subjects, predicate=predicate, made_at=case.now, about=node_subject(case.node.name)
    )


def gate_predicate(case: NodeCase, verdict: GateVerdict) -> dict[str, Any]:
    """The predicate of `urn:metalwright:gate:v1`: what was judged, on which observations, with which result."""
    return {
        "gate": verdict.gate,
        "phase": PHASE_OF[verdict.gate],
        "node": case.node.name,
        "verdict": verdict.colour,
        "spec_digest": case.spec_digest,
        "work_order": case.head or 0,
        **({"observed_only": True} if case.observe_only else {}),
        "findings": [finding_words(finding) for finding in verdict.findings],
        "observations": [
            {
                "subject": cited.subject,
                "kind": cited.kind,
                "witness": cited.witness,
                "digest": cited.digest,
                "age_ms": max(0, round((case.now - cited.seen_at) * 1000)),
            }
            for cited in verdict.cited
        ],
    }


def finding_words(finding: Finding) -> dict[str, str]:
    """One finding as JSON; empty texts are left out."""
    words = {
        "check": finding.check,
        "subject": finding.subject,
        "result": finding.result,
        "expected": finding.expected,
        "seen": finding.seen,
        "source": finding.source,
        "waiver": finding.waiver,
    }
    if finding.waiver or finding.result in (Result.UNDETERMINED, Result.NOT_APPLICABLE):
        words["reason"] = finding.reason
    return {key: str(text) for key, text in words.items() if text}


def _work_predicate(case: NodeCase, decision: Decision) -> dict[str, Any]:
    people = people_of(case)
    runs = [run for run in case.runs if decision.run is None or (run.index, run.attempt) != (decision.run.index, decision.run.attempt)]
    runs += [decision.run] if decision.run else []
    return {
        "work_order": case.head or 0,
        "parent": (case.order.parent or 0) if case.order else 0,
        "node": case.node.name,
        "goal": case.order.body.goal if case.order else "",
        "depth": depth_of(case.spec, case.order.body.goal) if case.order else "",
        "order_digest": case.order.digest if case.order else "",
        "spec_digest": case.spec_digest,
        "steps": [
            {
                "step": case.order.body.steps[run.index].kind if case.order else "",
                "attempt": run.attempt,
                "state": run.state,
                "seen": run.detail,
                "took_ms": _milliseconds(run.began_at, run.ended_at),
                **people.get(run.index, {}),
            }
            for run in sorted(runs, key=lambda run: (run.index, run.attempt))
        ],
    }


def _milliseconds(began: Instant, ended: Instant | None) -> int:
    return max(0, round(((ended or began) - began) * 1000))
