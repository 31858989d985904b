"""A toy site's boot and agent listener on loopback: real store, real TLS, a small image; and an agent's words to them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from metalwright.agent.http_client import Answer, HttpClient
from metalwright.drivers.images.store import FolderImageStore
from metalwright.drivers.images.synthetic import build_synthetic
from metalwright.endpoints.agent_app import AgentApp
from metalwright.endpoints.boot_app import BootApp
from metalwright.endpoints.hints import Hints
from metalwright.endpoints.ipxe import BootAddresses
from metalwright.endpoints.orders import OrderDesk
from metalwright.endpoints.reports import ReportDesk
from metalwright.endpoints.server import serve
from metalwright.model.agent_messages import Claim, Report
from metalwright.model.boot import BootGrant
from metalwright.model.image import BuiltImage
from metalwright.model.observation import Kind, Observation
from metalwright.model.tokens import token_for, token_hash
from metalwright.model.work import Operation
from metalwright.ports import Fence
from metalwright.service.clock import SystemClock
from metalwright.service.state_folder import open_state
from metalwright.store import SqlStore
from tests.conformance.store_site import change, fence_of, grant, node, operation, order, site_at
from tests.fast.agent.image_server import RECIPE, free_port

KEY = b"k" * 32
NODE, NAME = node(), grant(1).node
MAC = "02:00:00:00:00:01"
LIMIT = 64 << 20
MINE, THEIRS = "a" * 64, "b" * 64


@dataclass
class Listening:
    """Running listeners. Node `a0-0` has an order of one step, and no grant until one is made."""

    store: SqlStore
    fence: Fence
    apps: AgentApp
    hints: Hints
    built: BuiltImage
    blob: Path
    boot_url: str
    agent_url: str
    pin: str

    async def grant(self, *, stage: str = "ram", opens_in: float = -1.0, expires_in: float = 60.0) -> str:
        """A boot of the node is granted; its token."""
        now = SystemClock().now()
        token = token_for(KEY, "1/0/1")
        made = replace(grant(1, token=token_hash(token)), stage=stage, opens_at=now + opens_in, expires_at=now + expires_in)
        await self.store.commit([change(NODE, grants=(made,))], self.fence)
        return token

    async def granted(self) -> BootGrant:
        (found,) = await self.store.grants_of(NAME)
        return found

    async def order_write(self, **parts: object) -> Operation:
        """The operation of the node's order is ordered."""
        made = operation(1, NODE, **parts)  # type: ignore[arg-type]
        await self.store.commit([change(NODE, operations=(made,))], self.fence)
        return made

    async def seen(self, kind: Kind) -> Observation | None:
        (row,) = await self.store.load([NODE])
        return next((look for look in row.observations if look.kind is kind), None)

    async def to_agents(self, method: str, path: str, body: bytes = b"", *, session: str = "", **headers: str) -> Answer:
        """One call on a connection of its own."""
        client = HttpClient(self.agent_url, self.pin)
        try:
            bearer = {"Authorization": f"Bearer {session}"} if session else {}
            return await client.request(method, path, headers={**bearer, **headers}, body=body, limit=LIMIT)
        finally:
            client.close()

    async def to_boot(self, path: str, method: str = "GET", **headers: str) -> Answer:
        client = HttpClient(self.boot_url)
        try:
            return await client.request(method, path, headers=headers, limit=LIMIT)
        finally:
            client.close()

    async def claim(self, token: str, session: str = MINE, *, stage: str = "ram") -> Answer:
        return await self.to_agents("POST", "/agent/v1/claim", json.dumps(asdict(claim_of(token, session, stage=stage))).encode())

    async def poll(self, session: str, wait_s: str = "0") -> Answer:
        return await self.to_agents("GET", f"/agent/v1/order?wait_s={wait_s}", session=session)

    async def report(self, session: str, report: Report) -> Answer:
        return await self.to_agents("POST", "/agent/v1/report", json.dumps(asdict(report)).encode(), session=session)


def claim_of(token: str, session: str = MINE, *, stage: str = "ram") -> Claim:
    return Claim(
        token=token, session=session, boot_id="boot-1", stage=stage, agent_version="1", system_serial="S-a0-0", uuid="u", kernel="6.1"
    )


@contextlib.asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[Listening]:
    state, images, clock, hints = open_state(folder), FolderImageStore(folder), SystemClock(), Hints()
    built = images.put("small@1", lambda scratch: build_synthetic(RECIPE, scratch))
    boot_url, agent_url = f"http://127.0.0.1:{free_port()}", f"https://127.0.0.1:{free_port()}"
    addresses = BootAddresses(boot_url=boot_url, agent_url=agent_url, pin=state.pin)
    async with site_at(f"sqlite:///{folder / 'site.db'}") as store:
        (node_spec, *_) = (await store.current_spec()).spec.nodes  # type: ignore[union-attr]
        boot = BootApp(
            store=store, images=images, clock=clock, addresses=addresses, boot_key=KEY, node_of_mac={MAC: node_spec}.get, files={}
        )
        orders = OrderDesk(store=store, hints=hints, clock=clock, boot_key=KEY, agent_url=agent_url, pin=state.pin, images_url=boot_url)
        agents = AgentApp(store=store, reports=ReportDesk(endpoint=store, turns=store, clock=clock), orders=orders, clock=clock)
        fence = await fence_of(store)
        await store.commit([change(NODE, order=order(1, NODE))], fence)
        ports = [int(url.rpartition(":")[2]) for url in (boot_url, agent_url)]
        tls = serve(agents, "127.0.0.1", ports[1], certificate=state.certificate, key=state.certificate_key)
        async with serve(boot, "127.0.0.1", ports[0]), tls:
            follower = asyncio.create_task(hints.follow(store.changes()))
            try:
                blob = Path(images.blob_path(built.digest))
                yield Listening(store, fence, agents, hints, built, blob, boot_url, agent_url, state.pin)
            finally:
                follower.cancel()
                await asyncio.gather(follower, return_exceptions=True)
