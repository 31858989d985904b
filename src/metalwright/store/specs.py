"""`SpecStore`: specs by digest, and what the site decided."""

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, delete, select, update

from metalwright.codec.json_codec import from_bytes, to_bytes
from metalwright.model.errors import InputError
from metalwright.model.ids import Instant, Subject, node_subject
from metalwright.model.observation import Witness
from metalwright.model.spec import SiteSpec, StoredSpec
from metalwright.model.work import SitePlan
from metalwright.ports import SITE_SHARD
from metalwright.store import rows
from metalwright.store.database import LONG_DEADLINE_S
from metalwright.store.part import Part
from metalwright.store.statements import insert_new, insert_or_overwrite
from metalwright.store.tables import heads, leases, seen, site_plans, specs, subjects

SPEC, SITE_PLAN, ORDER, LOG = "spec", "site-plan", "order", "log"
"""Names of the rows of `heads`."""

_CURRENT = select(heads.c.digest).where(heads.c.name == SPEC)
_BODY = select(specs.c.body).where(specs.c.digest == bindparam("digest"))
_PLAN = select(site_plans.c.body).join(heads, site_plans.c.number == heads.c.number).where(heads.c.name == SITE_PLAN)
_FORGET = delete(seen).where(seen.c.subject == bindparam("b_subject"), seen.c.witness == Witness.OUT_OF_BAND.value)
_SWAP_PLAN = (
    update(heads)
    .where(heads.c.name == SITE_PLAN, heads.c.number.is_not_distinct_from(bindparam("b_parent", type_=heads.c.number.type)))
    .values(number=bindparam("b_number"))
)


def shards_of(spec: SiteSpec) -> dict[Subject, str]:
    """Every subject that gets turns → its shard: a node's is its rack, the site's is `SITE_SHARD`."""
    if any(node.rack == SITE_SHARD for node in spec.nodes):
        raise InputError(f"a rack may not be called {SITE_SHARD}", hint="rename it in the spec")
    return {Subject(f"site:{spec.site.name}"): SITE_SHARD, **{node_subject(node.name): str(node.rack) for node in spec.nodes}}


def asked_elsewhere(old: SiteSpec, new: SiteSpec) -> frozenset[Subject]:
    """Nodes whose BMC has another address than before, or that come back: what was read then is no look at what is meant now."""
    before = {node.name: node.bmc for node in old.nodes}
    return frozenset(node_subject(node.name) for node in new.nodes if before.get(node.name) != node.bmc)


class Specs(Part):
    """See `ports.SpecStore`."""

    async def adopt_spec(self, spec: StoredSpec, now: Instant) -> None:
        shards = shards_of(spec.spec)
        row = {"digest": spec.digest, "body": to_bytes(spec), "adopted_at": now}

        def work(connection: Connection) -> None:
            _forget_looks(connection, spec)
            _adopt(connection, row, shards, now)

        await self._change(shards, work, LONG_DEADLINE_S)

    async def current_spec(self) -> StoredSpec | None:
        known = self._remembered.spec

        def work(connection: Connection) -> tuple[str | None, bytes]:
            digest = connection.execute(_CURRENT).scalar_one()
            if digest is None or known.get(digest) is not None:
                return digest, b""
            return digest, connection.execute(_BODY, {"digest": digest}).scalar_one()

        digest, body = await self._database.read(work)
        if digest is None:
            return None
        return known.get(digest) or known.put(digest, from_bytes(StoredSpec, body))

    async def site_plan(self) -> SitePlan | None:
        text = await self._database.read(lambda connection: connection.execute(_PLAN).scalar_one_or_none())
        return None if text is None else rows.site_plan_of(text)

    async def put_site_plan(self, plan: SitePlan) -> bool:
        def work(connection: Connection) -> bool:
            if connection.execute(_SWAP_PLAN, {"b_parent": plan.parent, "b_number": plan.number}).rowcount != 1:
                return False
            connection.execute(site_plans.insert(), {"number": plan.number, "body": rows.text_of(plan)})
            return True

        return await self._change((), work)


def _forget_looks(connection: Connection, spec: StoredSpec) -> None:
    """Of BMCs that are asked at another address from now on. Bodies stay: evidence may cite them."""
    current = connection.execute(_CURRENT).scalar_one()
    if current in (None, spec.digest):
        return
    old = from_bytes(StoredSpec, connection.execute(_BODY, {"digest": current}).scalar_one())
    moved = [{"b_subject": subject} for subject in sorted(asked_elsewhere(old.spec, spec.spec))]
    if moved:
        connection.execute(_FORGET, moved)


def _adopt(connection: Connection, spec: rows.Values, shards: Mapping[Subject, str], now: Instant) -> None:
    dialect = connection.dialect.name
    connection.execute(insert_new(dialect, specs, ("digest",)), spec)
    connection.execute(update(heads).where(heads.c.name == SPEC).values(digest=spec["digest"]))
    connection.execute(update(leases).values(is_active=False))
    connection.execute(
        insert_or_overwrite(dialect, leases, ("shard",), ("is_active",)),
        [{"shard": shard, "is_active": True, "worker": None, "epoch": 0, "expires_at": 0.0} for shard in sorted(set(shards.values()))],
    )
    connection.execute(update(subjects).values(is_active=False, wakes=subjects.c.wakes + 1))
    connection.execute(
        insert_or_overwrite(dialect, subjects, ("subject",), ("shard", "is_active", "next_due_at")),
        [
            {"subject": subject, "shard": shard, "is_active": True, "next_due_at": now, "wakes": 0}
            for subject, shard in sorted(shards.items())
        ],
    )
