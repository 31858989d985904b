"""Verifies a bundle with the trust file alone: no network, no store. Each fault names the record and why.

seal → every record (spelling, signature, statement) → Merkle root against the signed checkpoint → completeness
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metalwright.evidence import bundle, notes
from metalwright.evidence.envelope import open_envelope
from metalwright.evidence.errors import Refused
from metalwright.evidence.merkle import RightEdge, leaf_hash
from metalwright.evidence.trust import Trust, read_trust
from metalwright.model.ids import Instant

FUTURE_S = 300.0
"""Clocks differ; an export from further ahead was not made by this log's collector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """What the records say of one serial last: gate → verdict."""

    name: str
    serial: str
    gates: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """`faults` is empty exactly when the bundle is valid; each is (where, why)."""

    origin: str
    simulated: bool
    records: int
    key_id: str
    exported: str
    nodes: tuple[NodeState, ...]
    unaccounted: tuple[str, ...]
    """Serials of the spec of which no record speaks."""
    faults: tuple[tuple[str, str], ...]

    @property
    def is_valid(self) -> bool:
        return not self.faults


def verify_bundle(data: bytes, trust_data: bytes, now: Instant) -> VerifyReport:
    """Never raises for bad evidence: what is wrong is in the report. `now` is the verifier's clock."""
    try:
        trust = read_trust(trust_data)
    except Refused as refused:
        return _nothing("", "", (refused.where, refused.why))
    try:
        content = bundle.read_lines(bundle.split(data))
    except Refused as refused:
        return _nothing(trust.origin, trust.key_id, (refused.where, refused.why))
    faults: list[tuple[str, str]] = []
    statements = _records(content.envelopes, trust, faults)
    _check_tree(content, trust, faults)
    _check_head(content, trust, now, faults)
    try:
        bundle.check_seal(data, trust)
    except Refused as refused:
        faults.append((refused.where, refused.why))
    nodes, unaccounted = _completeness(content.spec, statements, faults)
    return VerifyReport(
        origin=content.origin,
        simulated=content.simulated,
        records=len(content.envelopes),
        key_id=trust.key_id,
        exported=content.exported,
        nodes=nodes,
        unaccounted=unaccounted,
        faults=tuple(faults),
    )


def _records(envelopes: Sequence[bytes], trust: Trust, faults: list[tuple[str, str]]) -> list[Mapping[str, Any]]:
    statements = []
    for index, envelope in enumerate(envelopes):
        try:
            where = _name(index, envelope)
            statement = open_envelope(envelope, trust.key_id, trust.public_key, where)
            if statement["predicate"].get("simulated") is not trust.simulated:
                raise Refused(where, "its `simulated` is not the log's")
            statements.append(statement)
        except Refused as refused:
            faults.append((refused.where, refused.why))
    return statements


def _name(index: int, envelope: bytes) -> str:
    """`record 17 (gate os of a01)`, as far as an unverified record can be read: only a name for the report."""
    try:
        statement = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
        kind = str(statement["predicateType"]).removeprefix("urn:metalwright:").removesuffix(":v1")
        predicate = statement["predicate"]
        about = " of ".join(str(predicate[key]) for key in ("gate", "node") if key in predicate)
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"record {index}"
    text = f"record {index} ({kind} {about})" if about else f"record {index} ({kind})"
    return text if text.isprintable() and len(text) < 200 else f"record {index}"


def _check_tree(content: bundle.BundleContent, trust: Trust, faults: list[tuple[str, str]]) -> None:
    edge = RightEdge()
    for envelope in content.envelopes:
        edge.append(leaf_hash(envelope))
    try:
        checkpoint = notes.read_checkpoint(notes.open_note(content.note, trust.origin, trust.public_key))
    except Refused as refused:
        faults.append((refused.where, refused.why))
        return
    if checkpoint.origin != trust.origin:
        faults.append(("checkpoint", f"it is of log {checkpoint.origin}, trusted is {trust.origin}"))
    if checkpoint.size != edge.size:
        faults.append(("checkpoint", f"it covers {checkpoint.size} records, the bundle holds {edge.size}"))
    elif checkpoint.root != edge.root():
        faults.append(("checkpoint", "its root is not that of the records: one was changed, dropped, added or moved"))


def _check_head(content: bundle.BundleContent, trust: Trust, now: Instant, faults: list[tuple[str, str]]) -> None:
    if content.origin != trust.origin:
        faults.append(("bundle line 2", f"log {content.origin}, trusted is {trust.origin}"))
    if content.simulated is not trust.simulated:
        faults.append(("bundle line 3", "`simulated` is not what the trust file says"))
    try:
        exported = float(content.exported)
    except ValueError:
        exported = float("inf")
    if f"{exported:.3f}" != content.exported or exported > now + FUTURE_S:
        faults.append(("bundle line 4", f"exported at {content.exported}: not a time, or in the future"))


def _completeness(
    spec: bytes, statements: Sequence[Mapping[str, Any]], faults: list[tuple[str, str]]
) -> tuple[tuple[NodeState, ...], tuple[str, ...]]:
    """The current state of every serial of the spec: the last gate statement per gate."""
    try:
        wanted = [(str(node["name"]), str(node["serial"])) for node in json.loads(spec)["spec"]["nodes"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        faults.append(("bundle line 5", "the spec cannot be read"))
        return (), ()
    gates: dict[str, dict[str, str]] = {}
    for statement in statements:
        predicate = statement["predicate"]
        if statement.get("predicateType") != "urn:metalwright:gate:v1":
            continue
        for subject in statement["subject"]:
            name = str(subject.get("name", "")) if isinstance(subject, dict) else ""
            gates.setdefault(name.removeprefix("node:"), {})[str(predicate.get("gate"))] = str(predicate.get("verdict"))
    nodes = tuple(NodeState(name=name, serial=serial, gates=gates[serial]) for name, serial in wanted if serial in gates)
    return nodes, tuple(serial for _, serial in wanted if serial not in gates)


def _nothing(origin: str, key_id: str, fault: tuple[str, str]) -> VerifyReport:
    return VerifyReport(origin=origin, simulated=False, records=0, key_id=key_id, exported="", nodes=(), unaccounted=(), faults=(fault,))
