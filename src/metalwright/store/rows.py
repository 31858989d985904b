"""Rows ↔ nouns of the model. Each pair of functions knows one table's columns, and nothing else does."""

import json
from dataclasses import fields
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import RowMapping

from metalwright.codec.json_codec import from_bytes, to_bytes
from metalwright.model.boot import BootGrant
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.model.ids import Digest, NodeName, OperationId, OrderNumber, Subject, node_of
from metalwright.model.judgement import Colour, GateVerdict, Result
from metalwright.model.work import (
    Operation,
    OperationState,
    OrderBody,
    Permit,
    SitePlan,
    Step,
    StepRun,
    StepState,
    Wait,
    WaitingFor,
    WorkOrder,
)
from metalwright.store.remembered import Kept

Values = dict[str, Any]
Columns = RowMapping

GRANT_FIELDS = tuple(field.name for field in fields(BootGrant) if field.name != "order")
CLAIM_FIELDS = ("claimed_at", "boot_id", "session_hash", "system_serial", "uuid", "last_contact_at", "kernel", "agent_version")
PROGRESS_FIELDS = ("state", "units_done", "units_total", "heartbeat_at", "checkpoint", "detail")


def text_of(value: Any, shape: Any = None) -> str:
    """A small structured value as JSON text."""
    return to_bytes(value, shape).decode()


# -- orders, runs, operations ------------------------------------------------------------------------------------------------


def order_values(order: WorkOrder) -> Values:
    body = order.body
    return {
        "number": order.number,
        "subject": body.subject,
        "parent": order.parent,
        "site_plan": order.site_plan,
        "goal": body.goal.value,
        "wish_digest": body.wish_digest,
        "digest": order.digest,
        "made_at": order.made_at,
        "body": text_of(body),
    }


def order_of(row: Columns, kept: Kept[int, OrderBody]) -> WorkOrder:
    number = row["number"]
    body = kept.get(number) or kept.put(number, from_bytes(OrderBody, row["body"]))
    return WorkOrder(
        number=OrderNumber(number),
        parent=row["parent"],
        site_plan=row["site_plan"],
        digest=Digest(row["digest"]),
        made_at=row["made_at"],
        body=body,
    )


def run_values(run: StepRun) -> Values:
    return {
        "order_number": run.order,
        "step": run.index,
        "attempt": run.attempt,
        "state": run.state.value,
        "began_at": run.began_at,
        "baseline": json.dumps(dict(run.baseline)),
        "epoch": run.epoch,
        "ended_at": run.ended_at,
        "detail": run.detail,
        "retry_at": run.retry_at,
        "needs_person": run.needs_person,
    }


def run_of(row: Columns) -> StepRun:
    return StepRun(
        order=OrderNumber(row["order_number"]),
        index=row["step"],
        attempt=row["attempt"],
        state=StepState(row["state"]),
        began_at=row["began_at"],
        baseline=json.loads(row["baseline"]),
        epoch=row["epoch"],
        ended_at=row["ended_at"],
        detail=row["detail"],
        retry_at=row["retry_at"],
        needs_person=row["needs_person"],
    )


def operation_values(operation: Operation, order: int) -> Values:
    return {
        "id": operation.id,
        "subject": operation.subject,
        "order_number": order,
        "step": text_of(operation.step, Step),
        "generation": operation.generation,
        "ordered_at": operation.ordered_at,
        "deadline_at": operation.deadline_at,
        "cancel_wanted": operation.cancel_wanted,
        "boot_id": None,
        **progress_values(operation),
    }


def progress_values(operation: Operation) -> Values:
    return {
        "state": operation.state.value,
        "units_done": operation.units_done,
        "units_total": operation.units_total,
        "heartbeat_at": operation.heartbeat_at,
        "checkpoint": operation.checkpoint,
        "detail": operation.detail,
    }


@lru_cache(maxsize=4096)
def _step_of(text: str) -> Step:
    return from_bytes(cast(type[Step], Step), text)


def operation_of(row: Columns) -> Operation:
    return Operation(
        id=OperationId(row["id"]),
        subject=Subject(row["subject"]),
        step=_step_of(row["step"]),
        state=OperationState(row["state"]),
        generation=row["generation"],
        ordered_at=row["ordered_at"],
        deadline_at=row["deadline_at"],
        units_done=row["units_done"],
        units_total=row["units_total"],
        heartbeat_at=row["heartbeat_at"],
        checkpoint=row["checkpoint"],
        cancel_wanted=row["cancel_wanted"],
        detail=row["detail"],
    )


# -- grants, permits, plans, waiting -----------------------------------------------------------------------------------------


def grant_values(grant: BootGrant) -> Values:
    return {"order_number": grant.order, **{name: getattr(grant, name) for name in GRANT_FIELDS}}


def grant_of(row: Columns) -> BootGrant:
    return BootGrant(order=OrderNumber(row["order_number"]), **{name: row[name] for name in GRANT_FIELDS})


def permit_values(permit: Permit) -> Values:
    return {
        "subject": permit.subject,
        "order_number": permit.order,
        "domains": json.dumps(list(permit.domains)),
        "watts": permit.watts,
        "expires_at": permit.expires_at,
    }


def permit_of(row: Columns, subject: Subject) -> Permit:
    return Permit(
        subject=subject,
        order=OrderNumber(row["order_number"]),
        domains=tuple(json.loads(row["domains"])),
        watts=row["watts"],
        expires_at=row["expires_at"],
    )


def waiting_values(waiting: WaitingFor | None) -> Values:
    if waiting is None:
        return {"wait": None, "wait_text": None, "wait_since": None, "is_overdue": None}
    return {"wait": waiting.wait.value, "wait_text": waiting.text, "wait_since": waiting.since, "is_overdue": waiting.overdue}


def waiting_of(row: Columns) -> WaitingFor | None:
    if row["wait"] is None:
        return None
    return WaitingFor(wait=Wait(row["wait"]), text=row["wait_text"], since=row["wait_since"], overdue=bool(row["is_overdue"]))


def site_plan_of(text: str) -> SitePlan:
    return from_bytes(SitePlan, text)


# -- verdicts, statements, log -----------------------------------------------------------------------------------------------


def verdict_values(verdict: GateVerdict, digest: Digest) -> Values:
    return {
        "subject": verdict.subject,
        "gate": verdict.gate.value,
        "digest": digest,
        "colour": verdict.colour.value,
        "red": _first_red(verdict),
        "body": text_of(verdict),
    }


def verdict_of(text: str) -> GateVerdict:
    return from_bytes(GateVerdict, text)


def _first_red(verdict: GateVerdict) -> str:
    """The first failing finding of a red verdict, in words."""
    failing = (finding for finding in verdict.findings if finding.result is Result.FAIL)
    finding = next(failing, None) if verdict.colour is Colour.RED else None
    if finding is None:
        return ""
    where = "" if finding.subject == verdict.subject else f" on {finding.subject}"
    return f"{finding.check}{where}: expected {finding.expected}, seen {finding.seen}"


def statement_values(statement: PendingStatement) -> Values:
    return {"statement_key": statement.key, "body": text_of(statement), "log_index": None}


def statement_of(text: str) -> PendingStatement:
    return from_bytes(PendingStatement, text)


def entry_values(entry: LogEntry) -> Values:
    return {
        "log_index": entry.index,
        "statement_key": entry.key,
        "kind": entry.kind,
        "about": entry.about,
        "envelope": entry.envelope,
        "logged_at": entry.logged_at,
    }


def entry_of(row: Columns) -> LogEntry:
    return LogEntry(
        index=row["log_index"],
        key=row["statement_key"],
        kind=row["kind"],
        about=Subject(row["about"]),
        envelope=bytes(row["envelope"]),
        logged_at=row["logged_at"],
    )


def checkpoint_values(checkpoint: Checkpoint) -> Values:
    return {
        "size": checkpoint.size,
        "origin": checkpoint.origin,
        "root": checkpoint.root,
        "note": checkpoint.note,
        "made_at": checkpoint.made_at,
    }


def checkpoint_of(row: Columns) -> Checkpoint:
    return Checkpoint(origin=row["origin"], size=row["size"], root=Digest(row["root"]), note=row["note"], made_at=row["made_at"])


def node_name(subject: Subject) -> NodeName:
    """The node of a subject, or an empty name: no grant belongs to a rack."""
    return node_of(subject) or NodeName("")
