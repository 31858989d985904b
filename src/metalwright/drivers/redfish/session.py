"""The account on one BMC: a Redfish session where there is one, Basic where there is none or the table is full.

BMCs hold 8 to 16 sessions (Q02): one per BMC, deleted on every way out. Its URI is handed to `SessionLog` before it is first
used, so that whoever takes over from a dead process can delete what it left.
"""

import base64
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from metalwright.drivers.redfish.connection import Response
from metalwright.drivers.redfish.failures import unauthorized
from metalwright.drivers.redfish.http_client import HttpClient
from metalwright.drivers.redfish.knowledge import Knowledge
from metalwright.drivers.redfish.messages import message_ids
from metalwright.model.errors import MetalwrightError
from metalwright.model.secret import Secret


class SessionLog(Protocol):
    """Remembers open sessions beyond this process. Keys are BMC URLs; a value is the path of the session resource."""

    def opened(self, bmc: str, session: str) -> None: ...
    def left_over(self, bmc: str) -> tuple[str, ...]: ...
    def closed(self, bmc: str, session: str) -> None: ...


@dataclass(slots=True)
class NoSessionLog:
    """For commands that live and die with their session."""

    def opened(self, bmc: str, session: str) -> None: ...

    def left_over(self, bmc: str) -> tuple[str, ...]:
        return ()

    def closed(self, bmc: str, session: str) -> None: ...


class OwnSessions:
    """A session log that tells this process' live sessions from those a former owner left: only the latter are deleted."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._live: set[tuple[str, str]] = set()

    def opened(self, bmc: str, session: str) -> None:
        self._live.add((bmc, session))
        self._log.opened(bmc, session)

    def left_over(self, bmc: str) -> tuple[str, ...]:
        return tuple(session for session in self._log.left_over(bmc) if (bmc, session) not in self._live)

    def closed(self, bmc: str, session: str) -> None:
        self._live.discard((bmc, session))
        self._log.closed(bmc, session)


class Session:
    """`headers()` is what each request carries. Credentials are read from their secrets at login and kept nowhere else."""

    def __init__(
        self, http: HttpClient, account: tuple[Secret, Secret] | None, log: SessionLog, knowledge: Knowledge, timeout_s: float
    ) -> None:
        self.is_basic = False
        self._knowledge = knowledge
        self._http = http
        self._account = account
        self._log = log
        self._timeout_s = timeout_s
        self._bmc = str(http.origin)
        self._token = ""
        self._path = ""

    def headers(self) -> str:
        """Header lines of the present authorization; empty before login or without an account."""
        if self._token:
            return f"X-Auth-Token: {self._token}\r\n"
        return self._basic() if self.is_basic else ""

    @property
    def is_open(self) -> bool:
        return self.is_basic or bool(self._token) or self._account is None

    @property
    def has_account(self) -> bool:
        return self._account is not None

    async def login(self, sessions_path: str | None) -> None:
        """Open a session at the path the service root names (Q04). BmcFault when the account is refused."""
        if self._account is None:
            return
        self._knowledge.check_not_refused(self._bmc, self._account)
        await self._delete_left_over()
        if sessions_path is None:
            self.is_basic = True
            return
        response = await self._http.send("POST", sessions_path, "", self._login_body(), self._timeout_s)
        if response.status in (401, 403) or (response.status == 400 and not _is_full(response)):
            self._knowledge.note_refused(self._account)
            raise unauthorized(self._bmc)
        token = response.header(b"x-auth-token")
        if response.status not in (200, 201, 202) or not token or not token.isprintable():
            self.is_basic = True  # table full (503, RAC0218), no session service (404, 405, 501), or no token in the answer
            return
        self._path = self._session_path(response)
        if self._path:
            self._log.opened(self._bmc, self._path)
        self._token = token

    def forget(self) -> None:
        """The BMC no longer knows this session (Q03): the next login makes another. Basic has nothing to renew."""
        if self._path:
            self._log.closed(self._bmc, self._path)
        self._token = self._path = ""

    async def logout(self, timeout_s: float) -> None:
        """End the session on the BMC. Never raises for what the BMC does."""
        if not self._path:
            return
        try:
            await self._http.send("DELETE", self._path, self.headers(), None, timeout_s)
        except MetalwrightError:
            return  # still in the log: whoever comes next deletes it
        self.forget()

    async def _delete_left_over(self) -> None:
        for path in self._log.left_over(self._bmc):
            response = await self._http.send("DELETE", self._http.local_target(path), self._basic(), None, self._timeout_s)
            if response.status < 500:
                self._log.closed(self._bmc, path)

    def _login_body(self) -> bytes:
        assert self._account is not None
        user, password = self._account
        return orjson.dumps({"UserName": user.reveal(), "Password": password.reveal()})

    def _basic(self) -> str:
        if self._account is None:
            return ""
        user, password = self._account
        pair = base64.b64encode(f"{user.reveal()}:{password.reveal()}".encode()).decode()
        return f"Authorization: Basic {pair}\r\n"

    def _session_path(self, response: Response) -> str:
        """Location, or `@odata.id` of the body when a BMC forgets the header (Q04); empty when neither is a path of this BMC."""
        try:
            link = response.header(b"location") or str(_object(response.body).get("@odata.id", ""))
            return self._http.local_target(link)
        except MetalwrightError:
            return ""


def _is_full(response: Response) -> bool:
    return any(known.endswith(("RAC0218", "SessionLimitExceeded")) for known in message_ids(_object(response.body)))


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
