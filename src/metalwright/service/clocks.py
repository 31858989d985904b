"""Where the time went: two clocks per gate and node, computed from the log alone.

before users   from the site's first record until the node first was in service: time that is paid for and used by nobody
in service     afterwards: time in service, and time that a node spent back at an earlier gate

A node is *at* the first gate that is not open. Green and waived open a gate, red closes it; undetermined leaves it as it was, because it
neither advances nor regresses a node.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metalwright.evidence.records import Record
from metalwright.model.ids import Instant
from metalwright.model.judgement import Colour, Gate
from metalwright.service.records import read_records

SITE = "site"
ROUTE = tuple(gate for gate in Gate if gate is not Gate.RETIRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClocks:
    """Seconds that one node spent at each gate. At `service`: seconds in service."""

    node: str
    at: Gate
    """Where it is now; `service` also when it is in service."""
    in_service: bool
    before_s: Mapping[Gate, float]
    after_s: Mapping[Gate, float]


@dataclass(slots=True, kw_only=True)
class _Hand:
    """The clock of one node while the log is read."""

    since: Instant
    open: set[Gate] = field(default_factory=set)
    was_live: bool = False
    before: dict[Gate, float] = field(default_factory=dict)
    after: dict[Gate, float] = field(default_factory=dict)

    @property
    def at(self) -> Gate:
        return next((gate for gate in ROUTE if gate not in self.open), Gate.SERVICE)

    def turn(self, to: Instant) -> None:
        """Time never runs backwards: an out-of-order record adds nothing."""
        kept = self.after if self.was_live else self.before
        kept[self.at] = kept.get(self.at, 0.0) + max(0.0, to - self.since)
        self.since = max(self.since, to)

    def judged(self, gate: Gate, colour: str) -> None:
        if colour in (Colour.GREEN, Colour.WAIVED):
            self.open.add(gate)
        elif colour == Colour.RED:
            self.open.discard(gate)
        self.was_live = self.was_live or self.open.issuperset(ROUTE)


def clocks(records: Sequence[Record], nodes: Iterable[str], now: Instant) -> list[NodeClocks]:
    """One per node, in the order given; a site without records has no time yet."""
    judged = sorted((_verdict(record) for record in records if record.kind == "gate"), key=lambda event: event[0])
    began = judged[0][0] if judged else now
    hands = {f"node:{node}": _Hand(since=began) for node in nodes}
    for at, about, gate, colour in judged:
        if gate is None:
            continue
        for hand in hands.values() if about == SITE else [hands[about]] if about in hands else []:
            hand.turn(at)
            hand.judged(gate, colour)
    for hand in hands.values():
        hand.turn(max(now, hand.since))
    return [
        NodeClocks(
            node=subject.removeprefix("node:"),
            at=hand.at,
            in_service=hand.open.issuperset(ROUTE),
            before_s=hand.before,
            after_s=hand.after,
        )
        for subject, hand in hands.items()
    ]


def _verdict(record: Record) -> tuple[Instant, str, Gate | None, str]:
    """When, about whom (`site` for the site's own gate), which gate, which colour; no gate for one that this version does not know."""
    predicate = record.statement["predicate"]
    known = {gate.value: gate for gate in Gate}
    about = SITE if record.about.startswith("site:") else str(record.about)
    return float(predicate["made_at_ms"]) / 1000, about, known.get(str(predicate.get("gate"))), str(predicate.get("verdict"))


async def read_clocks(folder: Path, nodes: Iterable[str], now: Instant) -> list[NodeClocks]:
    """Those of a site's own log."""
    return clocks(await read_records(folder), nodes, now)
