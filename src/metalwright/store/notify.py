"""Hints between processes on PostgreSQL: NOTIFY in the writing transaction, LISTEN on a connection of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterable

import psycopg
from sqlalchemy import Connection, bindparam, text
from sqlalchemy.engine import URL

from metalwright.model.ids import Subject

CHANNEL = "metalwright"
PAYLOAD_BYTES = 7000
"""PostgreSQL takes payloads below 8,000 bytes (its manual, NOTIFY)."""
RECONNECT_S = 2.0

_NOTIFY = text("SELECT pg_notify(:channel, :subjects)").bindparams(bindparam("channel"), bindparam("subjects"))


def notify(connection: Connection, subjects: Iterable[Subject]) -> None:
    """Tell every listening process, once this transaction is committed."""
    for payload in _payloads(subjects):
        connection.execute(_NOTIFY, {"channel": CHANNEL, "subjects": payload})


def _payloads(subjects: Iterable[Subject]) -> list[str]:
    """The subjects, one a line, in as few payloads as they fit into."""
    payloads: list[str] = []
    line = ""
    for subject in sorted(set(subjects)):
        if line and len(line.encode()) + len(subject.encode()) + 1 > PAYLOAD_BYTES:
            payloads.append(line)
            line = ""
        line = f"{line}\n{subject}" if line else subject
    return [*payloads, line] if line else payloads


async def listen(url: URL) -> AsyncIterator[Subject]:
    """Subjects that any process tells about. Reconnects by itself; what was told meanwhile is lost, and polling finds it."""
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(address, autocommit=True, connect_timeout=4) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                async for told in connection.notifies():
                    for subject in told.payload.splitlines():
                        yield Subject(subject)
        except psycopg.Error:
            await asyncio.sleep(RECONNECT_S)
