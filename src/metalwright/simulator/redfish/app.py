"""HTTP for all BMCs of a site: one ASGI application, the BMC is chosen by the address that the client connected to."""

import asyncio
import base64
import binascii
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.model.secret import Secret
from metalwright.ports import Machine
from metalwright.simulator.redfish import hostile, metadata, queries, writes
from metalwright.simulator.redfish.answers import Answer, Refused, refuse
from metalwright.simulator.redfish.bmc import PRIVILEGES, Account, BmcState
from metalwright.simulator.redfish.documents import ROOT, Document, View
from metalwright.simulator.redfish.face import Desk, FaceFaults
from metalwright.simulator.redfish.tree import render
from metalwright.simulator.world import World

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_MAX_BODY = 1 << 20
_OPEN = {"/redfish", ROOT, f"{ROOT}/odata", f"{ROOT}/$metadata", metadata.OEM_SCHEMA_PATH}
"""Readable without a login (DSP0266 13.3.1)."""


_OFFERED = ("*/*", "application/*", "application/json", "application/xml", "application/yaml")
"""Media types that some document of ours has, or that a client may ask for one we lack (OpenAPI) and then get 404."""
_LOGIN = {f"{ROOT}/SessionService/Sessions", f"{ROOT}/SessionService/Sessions/Members"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A write, once we know who asks; `user` is empty for a login."""

    name: NodeName
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    user: str


class RedfishSite:
    """Every BMC of a site. `machines` are what the BMCs control: simulated ones, QEMU processes, or both.

    `user` and `password` are the account that each BMC was delivered with. `last_reset`: when a machine was last started, from the
    machine itself; without it each BMC notes the resets that it did (0 for never).
    """

    def __init__(
        self,
        world: World,
        machines: Mapping[NodeName, Machine],
        *,
        user: str,
        password: Secret,
        latency_s: float = 0.0,
        last_reset: Callable[[NodeName], float] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.world = world
        self.machines = machines
        self.latency_s = latency_s
        self.faults: dict[NodeName, FaceFaults] = {name: FaceFaults() for name in machines}
        self.console_ports: dict[NodeName, int] = {}
        """Where each node's serial console answers, while it is served."""
        self._user = user
        self._password = password
        self._now = now
        self._last_reset = last_reset
        self._states: dict[NodeName, BmcState] = {}
        self._by_address = {address_of(world.node(name).bmc): name for name in machines}

    def state(self, name: NodeName) -> BmcState:
        """What the BMC of this node remembers."""
        state = self._states.get(name)
        if state is None:
            now = self._now()
            account = Account(user=self._user, password=self._password.reveal(), role="Administrator")
            state = self._states[name] = BmcState(accounts={self._user: account}, started_at=now)
        if self._last_reset is not None:
            state.last_reset_at = self._last_reset(name)
        return state

    def addresses(self) -> tuple[tuple[str, str, int], ...]:
        """Scheme, address and port of every BMC."""
        urls = (self.world.node(name).bmc for name in self.machines)
        return tuple((urlsplit(url).scheme, *address_of(url)) for url in urls)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            return
        name = self._by_address.get(tuple(scope["server"]))
        if name is None:
            await send_answer(send, Answer(status=404), is_head=False)
            return
        faults = self.faults[name]
        if faults.mute:
            await _silence(receive, faults)
            return
        if faults.hostile:
            await _hostile(scope, receive, send, faults.hostile)
            return
        delay = self.latency_s + faults.slow_s
        if delay > 0:
            await asyncio.sleep(delay)
        try:
            answer = await self._answer(name, scope, receive)
        except Refused as refused:
            answer = refused.answer
        await send_answer(send, answer, is_head=scope["method"] == "HEAD")

    async def _answer(self, name: NodeName, scope: Scope, receive: Receive) -> Answer:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        path = path.rstrip("/") if len(path) > 1 else path
        _check_headers(headers)
        method = scope["method"]
        self.state(name).note(method, path)
        body = await read_body(receive, headers) if method in {"POST", "PATCH", "PUT"} else {}
        user = self._user_of(name, headers)
        is_read = method in {"GET", "HEAD"}
        is_login = method == "POST" and path in _LOGIN
        if user is None and not is_login and not (path in _OPEN and is_read):
            raise refuse(401, "NoValidSession", headers={"WWW-Authenticate": 'Basic realm="Redfish"'})
        fixed = _fixed(path) if is_read else None
        if fixed is not None:
            return fixed
        view = await self._view(name)
        if is_read:
            return self._read(view, path, scope["query_string"].decode("latin-1"), headers)
        return await self._write(_Request(name=name, method=method, path=path, headers=headers, body=body, user=user or ""), view)

    def _user_of(self, name: NodeName, headers: Mapping[str, str]) -> str | None:
        """The session's user, else the Basic one; a bad token is never rescued by Basic."""
        state, token = self.state(name), headers.get("x-auth-token")
        if token is not None:
            return state.user_of(token, self._now())
        scheme, _, encoded = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        return user if state.password_fits(user, password) else None

    async def _view(self, name: NodeName) -> View:
        machine = self.machines[name]
        target, once = await machine.boot()
        power = await machine.power()
        broken = self.faults[name].console
        return View(
            node=self.world.node(name),
            parts=self.world.parts(name),
            power=power,
            boot_target=target,
            boot_once=once,
            bmc=self.state(name),
            console_port={"off": 0, "silent": 1}.get(broken, self.console_ports.get(name, 0)),
            is_console_logged=broken != "unlogged",
        )

    def _read(self, view: View, path: str, query: str, headers: Mapping[str, str]) -> Answer:
        document = render(view, path)
        if document is None:
            methods = writes.allowed_methods(path, None)
            if methods:
                raise refuse(405, "OperationNotAllowed", headers={"Allow": methods})
            raise refuse(404, "ResourceMissingAtURI", path[:200])
        etag = _etag(document)
        shown = {"ETag": etag, "Allow": writes.allowed_methods(path, document), "Link": _described_by(document)}
        if headers.get("if-none-match") == etag:
            return Answer(status=304, headers=shown)
        parameters = queries.parse(query)
        if parameters:
            document = queries.apply(document, parameters, lambda found: render(view, found))
        elif len(document.get("Members", ())) > queries.PAGE:
            document = queries.apply(document, {}, lambda found: None)
        return Answer(status=200, document=document | {"@odata.etag": etag}, headers=shown)

    async def _write(self, request: "_Request", view: View) -> Answer:
        name, path, user = request.name, request.path, request.user
        handler = writes.handler_for(request.method, path)
        document = render(view, path)
        if handler is None:
            methods = writes.allowed_methods(path, document)
            raise (
                refuse(405, "OperationNotAllowed", headers={"Allow": methods})
                if methods
                else refuse(404, "ResourceMissingAtURI", path[:200])
            )
        act, privilege = handler
        body = _without_annotations(request.body) if request.method == "PATCH" else request.body
        self._check_privilege(name, user, privilege, path)
        wanted = request.headers.get("if-match")
        if wanted is not None and document is not None and wanted not in {"*", _etag(document)}:
            raise refuse(412, "PreconditionFailed")
        desk = Desk(
            bmc=view.bmc,
            machine=self.machines[name],
            faults=self.faults[name],
            user=user,
            render=lambda found: render(view, found),
            now=self._now,
        )
        return await act(desk, body)

    def _check_privilege(self, name: NodeName, user: str, privilege: str, path: str) -> None:
        """The role's privileges; everybody may change their own password and end their own session."""
        account = self.state(name).accounts.get(user)
        granted = PRIVILEGES.get(account.role, ()) if account else ()
        own = path == f"{ROOT}/AccountService/Accounts/{user}" and "ConfigureSelf" in granted
        if privilege and privilege not in granted and not own:
            raise refuse(403, "InsufficientPrivilege")


def address_of(url: str) -> tuple[str, int]:
    """Address and port of a BMC URL; only loopback addresses may be simulated (InputError)."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    octets = host.split(".")
    if len(octets) != 4 or octets[0] != "127" or not all(each.isdigit() and int(each) < 256 for each in octets):
        raise InputError(f"BMC URL {url} is not a loopback address", hint="a simulated site uses URLs such as https://127.0.10.1:9443")
    return host, parts.port or (443 if parts.scheme == "https" else 80)


# -- HTTP details --------------------------------------------------------------------------------------------------------------


async def _silence(receive: Receive, faults: FaceFaults) -> None:
    """Say nothing until the client leaves or the fault is cleared (then the connection just ends)."""
    while faults.mute:
        try:
            async with asyncio.timeout(0.5):
                message = await receive()
        except TimeoutError:
            continue
        if message["type"] == "http.disconnect":
            return


async def _hostile(scope: Scope, receive: Receive, send: Send, way: str) -> None:
    """One hostile answer; left when the client leaves."""

    async def leaves() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    leaving = asyncio.create_task(leaves())
    try:
        path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
        await hostile.send_hostile(send, way, path.partition("?")[0], query, leaving.done)
    finally:
        leaving.cancel()


def _check_headers(headers: Mapping[str, str]) -> None:
    if headers.get("odata-version", "4.0") not in {"4.0", "4.01"}:
        raise refuse(412, "GeneralError", "OData-Version 4.0 is the only one supported.")
    accept = headers.get("accept", "*/*")
    if not any(word in accept for word in _OFFERED):
        raise refuse(406, "GeneralError", "Only application/json is offered.")


async def read_body(receive: Receive, headers: Mapping[str, str]) -> Mapping[str, Any]:
    """A JSON object of at most 1 MiB; an empty body counts as `{}`."""
    raw = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise refuse(400, "MalformedJSON")
        raw += message.get("body", b"")
        if len(raw) > _MAX_BODY:
            raise refuse(413, "GeneralError", "The body is too large.")
        if not message.get("more_body"):
            break
    if not raw:
        return {}
    if not headers.get("content-type", "application/json").lower().startswith("application/json"):
        raise refuse(415, "GeneralError", "The body must be application/json.")
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise refuse(400, "MalformedJSON")
    return body


def _without_annotations(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A PATCH may echo what it read, `@odata.id` included; one that says nothing else is refused (DSP0266 7.7)."""
    said = {name: value for name, value in body.items() if not name.startswith("@odata.")}
    if not said:
        raise refuse(400, "NoOperation")
    return said


def _fixed(path: str) -> Answer | None:
    """The documents that are the same for every BMC."""
    match path:
        case "/redfish":
            return Answer(status=200, document={"v1": f"{ROOT}/"})
        case "/redfish/v1/odata":
            return Answer(status=200, document=metadata.odata())
        case "/redfish/v1/$metadata":
            return Answer(status=200, raw=metadata.metadata(), media_type="application/xml")
        case metadata.OEM_SCHEMA_PATH:
            return Answer(status=200, raw=metadata.oem_schema(), media_type="application/xml")
        case _:
            return None


def _etag(document: Document) -> str:
    return '"' + hashlib.blake2b(orjson.dumps(document), digest_size=8).hexdigest() + '"'


def _described_by(document: Document) -> str:
    kind = str(document["@odata.type"])[1:].split(".")
    return f"<http://redfish.dmtf.org/schemas/v1/{'.'.join(kind[:-1])}.json>; rel=describedby"


async def send_answer(send: Send, answer: Answer, *, is_head: bool) -> None:
    """One ASGI response."""
    body = orjson.dumps(answer.document) if answer.document is not None else answer.raw
    head = {"OData-Version": "4.0", "Cache-Control": "no-cache"} | dict(answer.headers)
    if body is not None:
        head |= {"Content-Type": answer.media_type, "Content-Length": str(len(body))}
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in head.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": b"" if is_head or body is None else body})
