"""HTTP of one recorded BMC: an ASGI application over its tree and its state."""

import asyncio
import base64
import binascii
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from metalwright.model.secret import Secret
from metalwright.simulator.recorded.state import RecordedState
from metalwright.simulator.recorded.tree import ROOT, RecordedTree
from metalwright.simulator.redfish.answers import Answer, Refused, refuse
from metalwright.simulator.redfish.app import Receive, Scope, Send, read_body, send_answer


class RecordedBmc:
    """Serves a tree as it was recorded, broken documents included. Without an account it takes any login, and none.

    Of queries only recorded pages are answered: what `$expand` would have said is not known.
    """

    def __init__(
        self,
        tree: RecordedTree,
        *,
        account: tuple[str, Secret] | None = None,
        latency_s: float = 0.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.state = RecordedState(tree, now)
        self.latency_s = latency_s
        self._tree = tree
        self._account = account

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            return
        if self.latency_s > 0:
            await asyncio.sleep(self.latency_s)
        try:
            answer = await self._answer(scope, receive)
        except Refused as refused:
            answer = refused.answer
        await send_answer(send, answer, is_head=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        method = scope["method"]
        asked = scope["raw_path"].decode("latin-1").partition("?")[0].rstrip("/")
        path = asked if asked in self._tree.documents else unquote(asked)
        query = unquote(scope["query_string"].decode("latin-1"))
        body = await read_body(receive, headers) if method in ("POST", "PATCH", "PUT") else {}
        if method == "POST" and path == self.state.sessions_path():
            return self._log_in(body)
        if not self._is_known(headers) and path != ROOT:
            raise refuse(401, "NoValidSession", headers={"WWW-Authenticate": 'Basic realm="Redfish"'})
        if method in ("GET", "HEAD"):
            return self._read(path, query)
        return self._write(method, path, headers, body)

    def _log_in(self, body: Mapping[str, Any]) -> Answer:
        if self._account is not None and not self._is_account(str(body.get("UserName")), str(body.get("Password"))):
            raise refuse(401, "NoValidSession")
        return self.state.log_in()

    def _is_known(self, headers: Mapping[str, str]) -> bool:
        token = headers.get("x-auth-token")
        if token is not None:
            return token in self.state.sessions
        scheme, _, encoded = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return self._account is None
        try:
            user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return self._account is None or self._is_account(user, password)

    def _is_account(self, user: str, password: str) -> bool:
        assert self._account is not None
        wanted = f"{self._account[0]}:{self._account[1].reveal()}"
        return hmac.compare_digest(wanted.encode(), f"{user}:{password}".encode())

    def _read(self, path: str, query: str) -> Answer:
        if path == "/redfish":
            return Answer(status=200, document={"v1": f"{ROOT}/"})
        place = f"{path}?{query}" if query else path
        if place in self.state.changed:
            return _shown(self.state.changed[place])
        if place in self._tree.documents:
            return Answer(status=200, raw=self._tree.documents[place])
        if place in self._tree.answers:
            status, raw = self._tree.answers[place]
            return Answer(status=status, raw=raw)
        if query and path in self._tree.documents:
            raise refuse(501, "QueryNotSupportedOnResource")
        raise refuse(404, "ResourceMissingAtURI", path[:200])

    def _write(self, method: str, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Answer:
        system = self.state.system_reset_by(path) if method == "POST" else self.state.system_set_by(path) if method == "PATCH" else None
        if method == "DELETE" and path.startswith(f"{self.state.sessions_path()}/"):
            return self.state.log_out(path)
        if system is None:
            raise refuse(405, "OperationNotAllowed", headers={"Allow": "GET, HEAD"})
        if method == "POST":
            return self.state.reset(system, body)
        etag = self.state.document(path).get("@odata.etag")
        if headers.get("if-match", "*") not in ("*", etag) and etag is not None:
            raise refuse(412, "PreconditionFailed")
        return self.state.set_boot(system, body)


def _shown(document: dict[str, Any]) -> Answer:
    etag = document.get("@odata.etag")
    return Answer(status=200, document=document, headers={"ETag": etag} if isinstance(etag, str) else {})
