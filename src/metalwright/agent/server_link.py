"""The agent's calls to its server: claim, report, order. Each goes on for ever until the server answers or refuses for good."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from metalwright.agent.http_client import Answer, HttpClient, HttpError
from metalwright.model.agent_messages import AgentOrder, Claim, Report, Session

MAX_ANSWER_BYTES = 1 << 20
RETRY_S = (0.5, 1.0, 2.0, 5.0)
"""Pauses between tries; the last repeats. A server that restarts is found again within seconds."""


class Refused(Exception):
    """The server will never accept this boot again (401, 409): a new boot is needed."""


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
        """The token becomes a session, once."""
        answer = await self._until_answered(self._calls, "POST", "/agent/v1/claim", json.dumps(asdict(claim)).encode())
        session: Session = _read(Session, answer.body)
        self.use(claim.session)
        return session

    async def report(self, report: Report) -> None:
        """Deliver it, however long that takes."""
        await self._until_answered(self._calls, "POST", "/agent/v1/report", json.dumps(asdict(report)).encode())

    async def order(self, wait_s: float) -> AgentOrder | None:
        """What to do next; None when nothing came within `wait_s`."""
        answer = await self._until_answered(self._polls, "GET", f"/agent/v1/order?wait_s={wait_s:.0f}", b"", timeout_s=wait_s + 15.0)
        return _read(AgentOrder, answer.body) if answer.status == 200 else None

    def close(self) -> None:
        self._calls.close()
        self._polls.close()

    async def _until_answered(self, client: HttpClient, method: str, path: str, body: bytes, timeout_s: float = 30.0) -> Answer:
        headers = {"Content-Type": "application/json"}
        tries = 0
        while True:
            if self._session:
                headers["Authorization"] = f"Bearer {self._session}"
            try:
                answer = await client.request(method, path, headers=headers, body=body, limit=MAX_ANSWER_BYTES, timeout_s=timeout_s)
                if answer.status in (200, 204):
                    return answer
                why = answer.body.decode(errors="replace")[:200]
                if answer.status in (401, 403, 409):
                    raise Refused(f"{path}: {answer.status} {why}")
                trouble = f"{path}: status {answer.status} {why}"
            except HttpError as error:
                trouble = str(error)
            if tries in (0, 5, 50):
                self._log(f"server not available, trying again: {trouble}")
            await asyncio.sleep(RETRY_S[min(tries, len(RETRY_S) - 1)])
            tries += 1


def _read(shape: Any, body: bytes) -> Any:
    """A message; unknown fields are ignored. HttpError when it is not one."""
    try:
        found = json.loads(body)
        known = {field.name for field in fields(shape)}
        return shape(**{name: value for name, value in found.items() if name in known})
    except (ValueError, AttributeError, TypeError) as error:
        raise HttpError(f"the server's {shape.__name__} cannot be read: {error}") from error
