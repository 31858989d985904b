"""What verification found, as data and as words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from metalwright.evidence.completeness import Current


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a bundle is not valid. `index`, `kind`, `about`: of the record, as far as it can be read; kind and about are its own claim."""

    where: str
    why: str
    index: int | None = None
    kind: str = ""
    about: str = ""

    def __str__(self) -> str:
        claim = f" ({self.kind} {self.about})" if self.kind else ""
        return f"{self.where}{claim}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """`faults` is empty exactly when every byte verifies; the other fields then say what was proven, else only how far it was read.

    `serials`: the one current state of every serial of the spec. `witnesses`: (name, POSIX seconds). `consistent_with`: sizes of earlier
    checkpoints that this log goes on from. `judged_spec_digest`: the spec of the newest plan gate record.
    """

    origin: str = ""
    simulated: bool = False
    records: int = 0
    root: str = ""
    key_id: str = ""
    trust_version: int = 0
    exported_ms: int = 0
    last_record_ms: int = 0
    spec_digest: str = ""
    judged_spec_digest: str = ""
    witnesses: tuple[tuple[str, int], ...] = ()
    consistent_with: tuple[int, ...] = ()
    serials: tuple[Current, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Every byte is as it was signed."""
        return not self.faults

    @property
    def nodes(self) -> Mapping[str, Current]:
        """Node name → its state, for every machine that the spec places."""
        return {state.node: state for state in self.serials if state.node and not state.part_of}

    @property
    def unaccounted(self) -> tuple[str, ...]:
        """Serials without any record."""
        return tuple(state.serial for state in self.serials if state.index is None)

    @property
    def is_complete(self) -> bool:
        """Every serial of the spec has a record."""
        return not self.unaccounted


def report_json(report: VerifyReport) -> dict[str, Any]:
    """For `--json`."""
    return {
        "valid": report.is_valid,
        "complete": report.is_valid and report.is_complete,
        "origin": report.origin,
        "simulated": report.simulated,
        "records": report.records,
        "root": report.root,
        "key_id": report.key_id,
        "trust_version": report.trust_version,
        "exported_ms": report.exported_ms,
        "spec_digest": report.spec_digest,
        "witnesses": [{"name": name, "time_s": at_s} for name, at_s in report.witnesses],
        "consistent_with": list(report.consistent_with),
        "serials": [
            {"serial": state.serial, "node": state.node, "part_of": state.part_of, "record": state.index, "gates": dict(state.gates)}
            for state in report.serials
        ],
        "unaccounted": list(report.unaccounted),
        "faults": [
            {"where": fault.where, "why": fault.why, "record": fault.index, "kind": fault.kind, "about": fault.about}
            for fault in report.faults
        ],
    }


MOST_NAMED = 10


def report_lines(report: VerifyReport) -> Iterator[str]:
    """For people; the last line is `valid`, `valid, but not complete` or `NOT valid`."""
    if not report.is_valid:
        yield from (str(fault) for fault in report.faults)
        yield "NOT valid"
        return
    yield f"{report.records} records of log {report.origin}, {_signed_by(report)}"
    if report.simulated:
        yield "simulated site: not evidence of real hardware"
    machines = [state for state in report.serials if not state.part_of]
    seen = [state for state in report.serials if state.index is not None]
    parts = len(report.serials) - len(machines)
    yield f"{len(seen)} of {len(report.serials)} serials of the spec accounted for ({len(machines)} machines, {parts} parts)"
    for state in machines:
        gates = "  ".join(f"{gate} {verdict}" for gate, verdict in state.gates.items())
        yield f"  {state.serial}  {state.node or 'no node'}  {gates or 'no verdict'}"
    if report.judged_spec_digest not in ("", report.spec_digest):
        yield "the spec was changed after it was last judged: the verdicts above are of an earlier spec"
    if not report.is_complete:
        yield _named("no record of", report.unaccounted)
    yield "valid" if report.is_complete else "valid, but not complete"


def _signed_by(report: VerifyReport) -> str:
    words = f"checkpoint signed by log key {report.key_id[:16]}"
    for name, at_s in report.witnesses:
        words += f" and witness {name} at {_time(at_s * 1000)}"
    for size in report.consistent_with:
        words += f", consistent with the checkpoint of {size} records"
    return f"{words}, exported {_time(report.exported_ms)}"


def _named(words: str, serials: tuple[str, ...]) -> str:
    more = f" and {len(serials) - MOST_NAMED} more" if len(serials) > MOST_NAMED else ""
    return f"{words} {', '.join(serials[:MOST_NAMED])}{more}"


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%F %T UTC")
