"""The agent's calls to its server: claim, report, order. Each goes on until the server answers, or refuses for good."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from metalwright.agent.answers import read_answer
from metalwright.agent.http_client import Answer, HttpClient, HttpError
from metalwright.model.agent_messages import AgentOrder, Claim, Report, Session

MAX_ANSWER_BYTES = 1 << 20
RETRY_S = (0.5, 1.0, 2.0, 5.0)
"""Pauses between tries; the last repeats. A server that restarts is found again within seconds."""
REFUSED = frozenset((401, 403, 409))
UNWANTED = frozenset((400, 413))
"""What no other try of the same message can cure. Anything else may be a proxy, or a server that is just starting."""

T = TypeVar("T")


class Refused(Exception):
    """The server will never accept this boot again (401, 403, 409): a new boot is needed."""


class NotTaken(Exception):
    """The server does not take this message, and would not the next time either (400, 413)."""


class ServerLink:
    """One server, two connections: long polls must not hold up reports."""

    def __init__(self, agent_url: str, pin: str, log: Callable[[str], None]) -> None:
        self._calls, self._polls = HttpClient(agent_url, pin), HttpClient(agent_url, pin)
        self._log = log
        self._session = ""

    def use(self, session: str) -> None:
        """Speak under this session from now on."""
        self._session = session

    async def claim(self, claim: Claim) -> Session:
        """The token becomes a session, once. Refused when it never will."""
        body = json.dumps(asdict(claim)).encode()
        try:
            session = await self._until_answered(self._calls, "POST", "/agent/v1/claim", body, _session)
        except NotTaken as error:
            raise Refused(str(error)) from error
        self.use(claim.session)
        return session

    async def report(self, report: Report) -> None:
        """Deliver it, however long that takes. NotTaken when the server does not want it."""
        await self._until_answered(self._calls, "POST", "/agent/v1/report", json.dumps(asdict(report)).encode(), lambda _: None)

    async def order(self, wait_s: float) -> AgentOrder | None:
        """What to do next; None when nothing came within `wait_s`."""
        path = f"/agent/v1/order?wait_s={wait_s:.0f}"
        return await self._until_answered(self._polls, "GET", path, b"", _order, timeout_s=wait_s + 15.0)

    def rest(self) -> None:
        """Nothing to report for a while: give the connection back. A thousand agents are a thousand connections less."""
        self._calls.close()

    def close(self) -> None:
        self._calls.close()
        self._polls.close()

    async def _until_answered(
        self, client: HttpClient, method: str, path: str, body: bytes, read: Callable[[Answer], T], *, timeout_s: float = 30.0
    ) -> T:
        tries = 0
        while True:
            try:
                answer = await client.request(method, path, headers=self._headers(), body=body, limit=MAX_ANSWER_BYTES, timeout_s=timeout_s)
                if answer.status in (200, 204):
                    return read(answer)
                trouble = f"{path}: status {answer.status} {_printable(answer.body)}"
                if answer.status in REFUSED:
                    raise Refused(trouble)
                if body and answer.status in UNWANTED:
                    raise NotTaken(trouble)
            except HttpError as error:
                trouble = str(error)
            if tries == 0 or (tries >= 5 and tries.bit_count() == 1):  # 1st, then at doubling distances: a console is no log file
                self._log(f"server not available, trying again: {trouble}")
            await asyncio.sleep(RETRY_S[min(tries, len(RETRY_S) - 1)])
            tries += 1

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {self._session}"} if self._session else headers


def _session(answer: Answer) -> Session:
    return read_answer(Session, answer.body)


def _order(answer: Answer) -> AgentOrder | None:
    return read_answer(AgentOrder, answer.body) if answer.status == 200 else None


def _printable(body: bytes) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in body[:200].decode(errors="replace"))
