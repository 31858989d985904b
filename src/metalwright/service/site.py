"""The site's turn: images, the plan gate, the site plan, permits, and the sequencing of evidence. One leader at a time."""

from collections.abc import Mapping
from dataclasses import replace

from metalwright.codec.json_codec import to_bytes
from metalwright.gates.judge import judge_site
from metalwright.model.case import SiteCase, Waiver
from metalwright.model.errors import InputError
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Digest, Instant, OrderNumber, Subject, node_of, node_subject
from metalwright.model.image import BuiltImage
from metalwright.model.judgement import PHASE_OF, Gate, GateVerdict
from metalwright.model.spec import StoredSpec
from metalwright.model.work import Permit, SitePlan
from metalwright.ports import Clock, Fence, ImageStore, LogSigner, NodeChange, Store
from metalwright.service import approvals
from metalwright.service.asked import Asked
from metalwright.service.cases import SiteContext
from metalwright.service.changes import content_digest, finding_words
from metalwright.service.people import People, site_identity
from metalwright.service.sequencer import Sequencer

PERMIT_S = 6 * 3600.0
"""Longer than the longest provisioning order (a 4 h image write and its boots); an unused permit frees its place by then."""

MAX_DISRUPTED = 256
"""Nodes disrupted at once while no node is in service: the in-flight limit of one worker."""

SEQUENCE_BATCH = 500


class SiteTurn:
    """Keeps `context`, what nodes' turns share; as the leader it also decides for the site."""

    def __init__(
        self,
        *,
        store: Store,
        images: ImageStore,
        signer: LogSigner | None,
        clock: Clock,
        people: People,
        until: Gate | None = None,
        patience: float = 1.0,
        observe_only: bool = False,
    ) -> None:
        self._store, self._images, self._clock = store, images, clock
        self._people, self._signer, self._folder = people, signer, people.folder
        self._sequencer = Sequencer(store, signer) if signer is not None else None
        self._until, self._patience, self._observe_only = until, patience, observe_only
        self._listening_since = clock.now()
        self._built: dict[str, BuiltImage | InputError] = {}
        self._spec: StoredSpec | None = None
        self._site_digest: Digest | None = None
        self._asked = Asked(store)
        self._papers: object = None
        self._verdict: tuple[object, GateVerdict] | None = None
        self.context: SiteContext | None = None

    async def refresh(self) -> None:
        """Re-read what the site is; the follower's whole turn."""
        stored = await self._store.current_spec()
        if stored is None:
            self.context = None
            return
        if self._spec is None or stored.digest != self._spec.digest:
            self._spec, self._built = stored, {}
        await self._people.refresh(self._spec)
        plan = await self._store.site_plan()
        await self._asked.refresh()
        case = self._case(self._spec, plan)
        verdict = self._judged(case)
        system = self._spec.spec.system
        image = case.images.get(system.image) if system else None
        problem = case.image_problems.get(system.image, "") if system else "the spec orders none"
        fresh = SiteContext(
            stored=self._spec,
            plan=plan,
            verdict=verdict,
            image=image,
            image_problem=problem,
            waivers=self._waivers(),
            retries=self._asked.retries,
            confirmations=self._asked.confirmations,
            observe_only=self._observe_only,
            listening_since=self._listening_since,
            patience=self._patience,
        )
        if self.context is None or _differs(self.context, fresh):
            self.context = fresh

    async def take(self, fence: Fence) -> None:
        """The leader's turn."""
        await self.refresh()
        if self.context is None:
            return
        await self._plan(self.context)
        await self._record_papers(self.context, fence)
        await self._record_verdict(self.context, fence)
        await self._permit(self.context)
        await self.sequence()

    def _judged(self, case: SiteCase) -> GateVerdict:
        """The plan gate reads the spec and the images alone: it is judged again only when one of them changed."""
        key = (case.spec_digest, tuple(case.images), tuple(case.image_problems.items()), case.waivers)
        if self._verdict is None or self._verdict[0] != key or case.waivers:
            self._verdict = (key, judge_site(case))
        return self._verdict[1]

    def _case(self, stored: StoredSpec, plan: SitePlan | None) -> SiteCase:
        images, problems = self._find_images(stored)
        return SiteCase(
            now=self._clock.now(),
            spec_digest=Digest(stored.digest),
            spec=stored.spec,
            profiles=stored.profiles,
            overrides=stored.overrides,
            images=images,
            image_problems=problems,
            site_plan=plan,
            waivers=self._of_this_site(stored),
            until=self._until or (plan.until if plan else Gate.OS),
        )

    async def with_papers(self) -> SiteContext | None:
        """The context with what people filed until now: a node that a waiver woke is judged with that waiver."""
        if self.context is not None:
            await self._people.refresh(self.context.stored)
            if self.context.waivers != self._waivers():
                self.context = replace(self.context, waivers=self._waivers())
        return self.context

    def _waivers(self) -> tuple[Waiver, ...]:
        """Those that are not over: a clock that was set back revives none."""
        return self._people.in_force(max(self._clock.now(), self._signer.last_signed().after.time_ms / 1000 if self._signer else 0.0))

    def _of_this_site(self, stored: StoredSpec) -> tuple[Waiver, ...]:
        identity = site_identity(str(stored.spec.site.name), self._signer.origin if self._signer else "")
        return tuple(waiver for waiver in self._waivers() if waiver.identity == identity)

    async def _record_papers(self, context: SiteContext, fence: Fence) -> None:
        """What people signed becomes a record, once per paper."""
        papers = (self._people.waivers, self._people.approvals)
        if self._papers == papers:
            return
        serials = {node_subject(name): f"node:{node.serial}" for name, node in context.nodes.items()}
        site = Subject(f"site:{context.stored.spec.site.name}")
        statements = self._people.statements(self._clock.now(), lambda subject: serials.get(_whole(subject), str(site)))
        filed, now = self._people.approvals, self._clock.now()
        statements += tuple([each async for each in approvals.statements(self._folder, self._store, context.stored, filed, now)])
        if statements:
            await self._store.commit([NodeChange(subject=site, next_due_at=float("inf"), keep_waiting=True, statements=statements)], fence)
        self._papers = papers

    def _find_images(self, stored: StoredSpec) -> tuple[Mapping[str, BuiltImage], Mapping[str, str]]:
        """Each image is checked whole once per process and spec; the agent checks every frame again anyway."""
        name = stored.spec.system.image if stored.spec.system else None
        if name is None:
            return {}, {}
        if name not in self._built:
            try:
                self._built[name] = self._images.find(name)
            except InputError as error:
                return {}, {name: error.message + (f" ({error.hint})" if error.hint else "")}
        found = self._built[name]
        return {name: found}, {}  # type: ignore[dict-item]

    async def _plan(self, context: SiteContext) -> None:
        """A new site plan when the spec changed or another `--until` was given."""
        old, digest = context.plan, Digest(context.stored.digest)
        until = self._until or (old.until if old else Gate.OS)
        if old is not None and old.spec_digest == digest and old.until == until:
            return
        new = SitePlan(
            number=(old.number if old else 0) + 1,
            parent=old.number if old else None,
            spec_digest=digest,
            until=until,
            max_disrupted=MAX_DISRUPTED,
            made_at=self._clock.now(),
        )
        await self._store.put_site_plan(new)
        await self.refresh()

    async def _permit(self, context: SiteContext) -> None:
        """First come, first served, within the plan's limit."""
        if context.plan is None:
            return
        now = self._clock.now()
        granted = await self._store.granted()
        free = context.plan.max_disrupted - sum(permit.expires_at > now for permit in granted)
        wanted = (await self._store.wanted())[: max(0, free)]
        if wanted:
            await self._store.grant([self._new_permit(context, subject, order, now) for subject, order in wanted])

    def _new_permit(self, context: SiteContext, subject: Subject, order: OrderNumber, now: Instant) -> Permit:
        name = node_of(subject)
        node = context.nodes.get(name) if name else None
        return Permit(
            subject=subject,
            order=order,
            domains=(f"rack:{node.rack}",) if node else (),
            watts=context.stored.profiles[node.profile].max_watts if node else 0,
            expires_at=now + PERMIT_S * self._patience,
        )

    async def _record_verdict(self, context: SiteContext, fence: Fence) -> None:
        verdict = context.verdict
        if verdict is None:
            return
        digest = content_digest(verdict)
        if digest == self._site_digest:
            return
        subject = Subject(f"site:{context.stored.spec.site.name}")
        rows = await self._store.load([subject])
        if rows and (mark := rows[0].verdicts.get(Gate.PLAN)) is not None and mark.digest == digest:
            self._site_digest = digest
            return
        change = NodeChange(
            subject=subject,
            next_due_at=float("inf"),
            verdicts=(verdict,),
            verdict_digests={Gate.PLAN: digest},
            statements=(self._statement(context, verdict, subject),),
        )
        await self._store.commit([change], fence)
        self._site_digest = digest

    def _statement(self, context: SiteContext, verdict: GateVerdict, subject: Subject) -> PendingStatement:
        now = self._clock.now()
        predicate = {
            "gate": verdict.gate,
            "phase": PHASE_OF[verdict.gate],
            "verdict": verdict.colour,
            "spec_digest": context.stored.digest,
            "overrides": list(context.stored.overrides),
            "findings": [finding_words(finding) for finding in verdict.findings],
        }
        key = f"gate/{subject}/{verdict.gate}/{content_digest(verdict)}/{now:.6f}"
        subjects = ((str(subject), context.stored.digest.removeprefix("sha256:")),)
        return PendingStatement(key=key, kind="gate", subjects=subjects, predicate=predicate, made_at=now, about=subject)

    async def sequence(self) -> None:
        """Pending statements become signed log entries."""
        if self._sequencer is not None:
            await self._sequencer.round(self._clock.now())


def _whole(subject: Subject) -> Subject:
    """The machine of a part."""
    return Subject(subject.partition("/")[0])


def _differs(old: SiteContext, new: SiteContext) -> bool:
    """Whether anything that turns use changed; the old context keeps its cached indexes otherwise."""
    return (
        old.stored.digest != new.stored.digest
        or old.plan != new.plan
        or old.image != new.image
        or old.image_problem != new.image_problem
        or old.retries != new.retries
        or old.confirmations != new.confirmations
        or old.waivers != new.waivers
        or (old.verdict is None or new.verdict is None or to_bytes(old.verdict) != to_bytes(new.verdict))
    )
