"""Rows → cases: what the site knows is put beside what the store holds of each node, for one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from metalwright.codec.json_codec import digest_of, to_bytes
from metalwright.model.case import NodeCase, Waiver
from metalwright.model.errors import InvariantError
from metalwright.model.ids import Digest, Instant, NodeName, OrderNumber, Subject, node_of, node_subject
from metalwright.model.image import BuiltImage
from metalwright.model.judgement import GateVerdict
from metalwright.model.spec import NodeSpec, PurchaseLine, StoredSpec
from metalwright.model.work import Confirmation, SitePlan
from metalwright.ports import NodeRows
from metalwright.service.identity import identity_digest


@dataclass(frozen=True, kw_only=True)
class SiteContext:
    """What every node of the site shares at one moment; made anew by the site's turn."""

    stored: StoredSpec
    plan: SitePlan | None
    verdict: GateVerdict | None
    image: BuiltImage | None
    image_problem: str = ""
    waivers: tuple[Waiver, ...] = ()
    retries: Mapping[Subject, Instant] = field(default_factory=dict)
    confirmations: Mapping[OrderNumber, tuple[Confirmation, ...]] = field(default_factory=dict)
    observe_only: bool = False
    listening_since: Instant = 0.0
    patience: float = 1.0

    @cached_property
    def nodes(self) -> Mapping[NodeName, NodeSpec]:
        return {node.name: node for node in self.stored.spec.nodes}

    @cached_property
    def parts(self) -> Mapping[str, tuple[PurchaseLine, ...]]:
        """Node serial → lines of the purchase list inside that node."""
        found: dict[str, list[PurchaseLine]] = {}
        for line in self.stored.spec.purchase:
            owner = line.node_serial or line.serial
            if owner:
                found.setdefault(owner, []).append(line)
        return {serial: tuple(lines) for serial, lines in found.items()}

    @cached_property
    def wishes(self) -> Mapping[NodeName, Digest]:
        """What the spec wants of each node alone."""
        system = to_bytes(self.stored.spec.system) if self.stored.spec.system else b""
        image = self.image.digest if self.image else ""
        return {
            node.name: digest_of(b"\0".join((to_bytes(node), to_bytes(self.stored.profiles[node.profile]), system, image.encode())))
            for node in self.stored.spec.nodes
        }


def node_case(context: SiteContext, rows: NodeRows, now: Instant, epoch: int) -> NodeCase:
    """Everything a turn may know about one node."""
    name = node_of(rows.subject)
    if name is None or name not in context.nodes:
        raise InvariantError(f"{rows.subject} is not a node of the spec")
    node, wish = context.nodes[name], context.wishes[name]
    case = NodeCase(
        now=now,
        spec_digest=Digest(context.stored.digest),
        wish_digest=wish,
        spec=context.stored.spec,
        node=node,
        profile=context.stored.profiles[node.profile],
        parts=context.parts.get(node.serial, ()),
        image=context.image,
        image_problem=context.image_problem,
        site_plan=context.plan,
        site_verdict=context.verdict,
        observations={(look.kind, look.witness): look for look in rows.observations},
        order=rows.order,
        runs=rows.runs,
        operations=rows.operations,
        rounds={gate: count for (gate, digest), count in rows.rounds.items() if digest == wish},
        standing={gate: mark.colour for gate, mark in rows.verdicts.items()},
        permit=rows.permit,
        confirmations=context.confirmations.get(rows.order.number, ()) if rows.order else (),
        paused=rows.paused,
        retry_asked_at=context.retries.get(node_subject(name), 0.0),
        epoch=epoch,
        observe_only=context.observe_only,
        listening_since=context.listening_since,
        patience=context.patience,
        waiting=rows.waiting,
    )
    mine = tuple(waiver for waiver in context.waivers if node_of(waiver.subject) == name)
    return replace(case, waivers=_of_this_machine(mine, case)) if mine else case


def _of_this_machine(waivers: tuple[Waiver, ...], case: NodeCase) -> tuple[Waiver, ...]:
    """A waiver binds the identity document: after a part was swapped it is one for another machine."""
    identity = "sha256:" + identity_digest(case)
    return tuple(waiver for waiver in waivers if waiver.identity == identity)
