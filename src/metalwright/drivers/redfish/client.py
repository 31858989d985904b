"""Redfish requests to one BMC: documents in and out, with the account, the login and the retry after a lost session."""

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from metalwright.drivers.redfish.connection import Response
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable, malformed, unauthorized
from metalwright.drivers.redfish.http_client import HttpClient
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.messages import is_error_body, is_try_again, message_text
from metalwright.drivers.redfish.session import Session

Document = dict[str, Any]
ROOT = "/redfish/v1/"
_SLOW = re.compile(r"/(FirmwareInventory|SoftwareInventory)(/|\?|$)")
_OK = 400


@dataclass(slots=True)
class Answer:
    """A response that is JSON or empty. `document` is `{}` when there was no body."""

    status: int
    document: Document
    headers: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        return self.status < _OK and not is_error_body(self.document)

    @property
    def why(self) -> str:
        """Status and the BMC's own words."""
        return f"status {self.status} {message_text(self.document)}".strip()


class RedfishClient:
    """`get` for documents that must be there, `ask` for any answer at all."""

    def __init__(self, http: HttpClient, session: Session, bounds: Bounds) -> None:
        self.http = http
        self._session = session
        self._deadlines = bounds.deadlines
        self._login = asyncio.Lock()
        self._generation = 0
        self._root: Document | None = None

    async def root(self) -> Document:
        """The service root: readable without an account; asked once per client."""
        if self._root is None:
            answer = await self._exchange("GET", ROOT, None, "", self._deadlines.request_s)
            if not answer.is_ok or not isinstance(answer.document.get("RedfishVersion") or answer.document.get("Systems"), str | dict):
                raise malformed(str(self.http.origin), f"{ROOT} is not a Redfish service root ({answer.why})")
            self._root = _with_well_known(answer.document)
        return self._root

    async def get(self, path: str) -> Answer:
        """GET a document that should exist. Raises BmcUnavailable (with the BMC's words) unless it came."""
        answer = await self.ask("GET", path)
        if answer.is_ok:
            return answer
        if answer.status == 403:
            raise unauthorized(f"{self.http.origin}{path}")
        retry_after = 15.0 if is_try_again(answer.document) else 5.0
        raise BmcUnavailable(f"{self.http.origin}{path}: {answer.why}", retry_after_s=retry_after)

    async def ask(self, method: str, path: str, body: Document | None = None, headers: str = "") -> Answer:
        """One request with the account; one new login when the session was lost (Q03), then `unauthorized`."""
        target = self.http.local_target(path)
        timeout_s = self._timeout(method, target)
        await self._ensure_login()
        generation = self._generation
        answer = await self._exchange(method, target, body, self._session.headers() + headers, timeout_s)
        if answer.status != 401:
            return answer
        await self._renew_login(generation)
        answer = await self._exchange(method, target, body, self._session.headers() + headers, timeout_s)
        if answer.status == 401:
            raise unauthorized(str(self.http.origin))
        return answer

    async def upload(self, path: str, content_type: str, body: bytes) -> Answer:
        """POST a body that is not JSON, with its length (Q05). Not repeated; log in with `ask` first."""
        target = self.http.local_target(path)
        await self._ensure_login()
        headers = f"{self._session.headers()}Content-Type: {content_type}\r\n"
        response = await self.http.send("POST", target, headers, body, self._deadlines.upload_s)
        return Answer(response.status, self._parse(response, target), response.headers)

    async def open_stream(self, path: str, headers: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of its own with a GET already sent, for answers that never end."""
        target = self.http.local_target(path)
        await self._ensure_login()
        return await self.http.open_stream(target, self._session.headers() + headers)

    async def close(self) -> None:
        """Log out and drop the connections; never raises for what the BMC does."""
        try:
            await self._session.logout(self._deadlines.close_s)
        finally:
            self.http.close()

    async def _ensure_login(self) -> None:
        if self._session.is_open:
            return
        async with self._login:
            if not self._session.is_open:
                await self._session.login(_sessions_path(await self.root(), self.http))
                self._generation += 1

    async def _renew_login(self, generation: int) -> None:
        """After a 401: log in again, unless another request of this client already did."""
        async with self._login:
            if self._generation != generation:
                return
            if not self._session.has_account:
                raise BmcFault(f"{self.http.origin} shows this only to an account", failure_class="unauthorized", hint="give a user")
            if self._session.is_basic:
                raise unauthorized(str(self.http.origin))
            self._session.forget()
            await self._session.login(_sessions_path(await self.root(), self.http))
            self._generation += 1

    async def _exchange(self, method: str, target: str, body: Document | None, headers: str, timeout_s: float) -> Answer:
        payload = None if body is None else orjson.dumps(body)
        response = await self.http.send(method, target, headers, payload, timeout_s)
        return Answer(response.status, self._parse(response, target), response.headers)

    def _parse(self, response: Response, target: str) -> Document:
        if not response.body or response.body.isspace():
            return {}
        try:
            value = orjson.loads(response.body)
        except orjson.JSONDecodeError as error:
            if response.status >= _OK:
                return {}  # an HTML error page: the status says enough
            start = response.body[:40].decode("latin-1")
            raise malformed(f"{self.http.origin}{target}", f"the body is not JSON ({error.msg}): {start!r}") from error
        if not isinstance(value, dict):
            raise malformed(f"{self.http.origin}{target}", f"the body is a JSON {type(value).__name__}, not an object")
        return value

    def _timeout(self, method: str, target: str) -> float:
        if method != "GET":
            return self._deadlines.write_s
        return self._deadlines.slow_request_s if _SLOW.search(target) else self._deadlines.request_s


def _with_well_known(root: Document) -> Document:
    """A root without its Systems link, as some BMCs show until their first reset (Q54): the paths that DSP0266 fixes are used."""
    if isinstance(root.get("Systems"), dict):
        return root
    names = ("Systems", "Chassis", "Managers", "UpdateService")
    return {**{name: {"@odata.id": f"/redfish/v1/{name}"} for name in names}, **root}


def _sessions_path(root: Document, http: HttpClient) -> str | None:
    """Where to POST a session: from the root's Links (Q04), else under its SessionService, else nowhere (Q04: none at all)."""
    links = root.get("Links")
    named = links.get("Sessions") if isinstance(links, dict) else None
    if isinstance(named, dict) and isinstance(named.get("@odata.id"), str):
        return http.local_target(named["@odata.id"])
    service = root.get("SessionService")
    if isinstance(service, dict) and isinstance(service.get("@odata.id"), str):
        return http.local_target(service["@odata.id"].rstrip("/") + "/Sessions")
    return None
