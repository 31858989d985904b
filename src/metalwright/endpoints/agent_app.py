"""The agent listener: claims, reports, orders. See `model.agent_messages` for the words.

An agent is believed about what it saw, never about who it is: its node comes from the grant its session was claimed with, and gates
compare what it says with the BMC.
"""

import asyncio
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar
from urllib.parse import parse_qs

from metalwright.codec.json_codec import from_bytes
from metalwright.endpoints.asgi import Receive, Refusal, Scope, Send, answer, answer_json, header, read_body
from metalwright.endpoints.orders import OrderDesk
from metalwright.endpoints.reports import ReportDesk
from metalwright.model.agent_messages import Claim, Report, Session
from metalwright.model.boot import BootGrant
from metalwright.model.errors import InvariantError, TemporaryError
from metalwright.model.ids import NodeName, OrderNumber
from metalwright.model.tokens import token_hash
from metalwright.ports import Clock, EndpointStore

T = TypeVar("T")

MAX_CLAIM_BYTES = 16 * 1024
MAX_REPORT_BYTES = 4 << 20
MAX_WAIT_S = 25.0
POLL_S = 2.0
SECRET_CHARACTERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentApp:
    """An ASGI application behind TLS."""

    store: EndpointStore
    reports: ReportDesk
    orders: OrderDesk
    clock: Clock
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server ends: long polls are answered at once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            match scope["method"], scope["path"]:
                case "POST", "/agent/v1/claim":
                    await self._claim(receive, send)
                case "POST", "/agent/v1/report":
                    await self._report(scope, receive, send)
                case "GET", "/agent/v1/order":
                    await self._order(scope, receive, send)
                case _:
                    raise Refusal(status=404, reason="no such call")
        except Refusal as refusal:
            await answer(send, refusal.status, refusal.reason.encode())
        except TemporaryError as error:
            await answer(send, 503, error.message.encode())

    async def _claim(self, receive: Receive, send: Send) -> None:
        claim = _read(Claim, await read_body(receive, MAX_CLAIM_BYTES))
        if len(claim.session) != SECRET_CHARACTERS:
            raise Refusal(status=400, reason="the session secret must have 64 characters")
        now = self.clock.now()
        hashed = token_hash(claim.token)
        claimed = BootGrant(
            id="",
            node=NodeName(""),
            order=OrderNumber(0),
            stage=claim.stage[:16],
            token_hash=hashed,
            opens_at=0.0,
            expires_at=0.0,
            claimed_at=now,
            boot_id=claim.boot_id[:64],
            session_hash=token_hash(claim.session),
            system_serial=claim.system_serial[:256],
            uuid=claim.uuid[:64],
            kernel=claim.kernel[:256],
            agent_version=claim.agent_version[:64],
            last_contact_at=now,
        )
        grant = await self.store.claim_grant(hashed, claimed, now)
        if grant is None:
            raise Refusal(status=401, reason="unknown token")
        if grant.claimed_at is None:
            raise Refusal(status=401, reason="this token is not open now")
        await self.reports.claimed(grant)
        if grant.revoked or grant.session_hash != claimed.session_hash:
            raise Refusal(status=409, reason="this token was claimed twice: both claims are revoked")
        if grant.stage != claim.stage:
            raise Refusal(status=409, reason=f"this token is for stage {grant.stage}")
        await answer_json(send, asdict(Session(node=str(grant.node), poll_s=MAX_WAIT_S)))

    async def _report(self, scope: Scope, receive: Receive, send: Send) -> None:
        grant = await self._session(scope)
        report = _read(Report, await read_body(receive, MAX_REPORT_BYTES))
        await self.reports.take(replace(grant, boot_id=report.boot_id[:64]), report)
        await answer(send, 204)

    async def _order(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Long poll: answered when there is something to do, when the time is up, or when the agent went away."""
        grant = await self._session(scope)
        await self.reports.contact(grant)
        gone = asyncio.create_task(_disconnected(receive))
        try:
            order = await self.orders.next_order(grant, _wait_s(scope), gone, self.stopping)
        finally:
            gone.cancel()
        if order is None:
            await answer(send, 204)
        else:
            await answer_json(send, asdict(order))

    async def _session(self, scope: Scope) -> BootGrant:
        scheme, _, secret = header(scope, "authorization").partition(" ")
        grant = await self.store.session(token_hash(secret.strip())) if scheme == "Bearer" and secret else None
        if grant is None or grant.revoked:
            raise Refusal(status=401, reason="no such session")
        return grant


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _wait_s(scope: Scope) -> float:
    text = parse_qs(scope["query_string"].decode("latin-1")).get("wait_s", ["0"])[0]
    return min(float(text), MAX_WAIT_S) if text.isascii() and text.isdigit() else 0.0


def _read(shape: type[T], body: bytes) -> T:
    try:
        return from_bytes(shape, body)
    except InvariantError as error:
        raise Refusal(status=400, reason=f"not a {shape.__name__}") from error
