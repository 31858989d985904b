"""Events of a BMC: a stream (SSE) or a push subscription. An event is a hint that triggers a read, never a fact.

When the stream ends or stays silent the caller polls as before; nothing depends on events.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httptools
import orjson

from metalwright.drivers.redfish.client import Document, RedfishClient
from metalwright.drivers.redfish.documents import inner, link_of, objects, text_of
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable, malformed, refused, timed_out
from metalwright.drivers.redfish.power import sorted_failure

_MOST_EVENT = 256 * 1024
_CHUNK = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BmcEvent:
    """One hint. Everything may be missing (Q61): some BMCs leave out ids, types and origins, or write times of their own."""

    message_id: str | None
    message: str | None
    severity: str | None
    origin: str | None
    """Path of the resource it is about, if the BMC says so."""
    at: str | None
    """The BMC's own words for the time: a claim."""


async def stream_events(client: RedfishClient, *, silence_s: float = 300.0) -> AsyncIterator[BmcEvent]:
    """Events until the stream ends (BmcUnavailable) or is silent too long. BmcFault when this BMC has no stream."""
    service = await _event_service(client)
    uri = service.get("ServerSentEventUri")
    if not isinstance(uri, str) or not uri:
        raise BmcFault("this BMC has no event stream", hint="its state is polled")
    async with _opened(client, uri) as reader:
        body = _Body()
        parser = httptools.HttpResponseParser(body)
        while True:
            try:
                async with asyncio.timeout(silence_s):
                    data = await reader.read(_CHUNK)
            except TimeoutError as error:
                raise timed_out("the event stream", silence_s) from error
            except OSError as error:
                raise refused("the event stream", error) from error
            if not data:
                raise refused("the event stream", "it ended")
            for event in body.take(parser, data):
                yield event


async def subscribe(client: RedfishClient, destination: str, context: str) -> str:
    """Ask for events to be pushed to an URL; path of the subscription. Some BMCs want EventTypes, others do not know it (Q61)."""
    service = await _event_service(client)
    subscriptions = link_of(service.get("Subscriptions"))
    if subscriptions is None:
        raise BmcFault("this BMC takes no event subscriptions", hint="its state is polled")
    wanted: Document = {"Destination": destination, "Protocol": "Redfish", "Context": context}
    for form in (wanted, {**wanted, "EventTypes": ["Alert", "StatusChange", "ResourceUpdated"]}):
        answer = await client.ask("POST", subscriptions, form)
        if answer.is_ok:
            return answer.headers.get(b"location", b"").decode("latin-1") or link_of(answer.document) or ""
        if answer.status != 400:
            break
    raise sorted_failure(answer, "the event subscription")


async def unsubscribe(client: RedfishClient, subscription: str) -> None:
    """End a subscription; one that is gone already is ended too."""
    answer = await client.ask("DELETE", subscription)
    if not answer.is_ok and answer.status != 404:
        raise sorted_failure(answer, "ending the event subscription")


async def _event_service(client: RedfishClient) -> Document:
    path = link_of((await client.root()).get("EventService"))
    if path is None:
        raise BmcFault("this BMC has no event service", hint="its state is polled")
    return (await client.get(path)).document


@asynccontextmanager
async def _opened(client: RedfishClient, uri: str) -> AsyncIterator[asyncio.StreamReader]:
    """A connection of its own, since the stream never ends; the certificate is checked like any other."""
    reader, writer = await client.open_stream(uri, "Accept: text/event-stream\r\n")
    try:
        yield reader
    finally:
        writer.close()


class _Body:
    """Bytes of the response → events. Bounded: a BMC that never ends a line is left."""

    def __init__(self) -> None:
        self._kept = b""
        self._lines: list[bytes] = []

    def on_body(self, body: bytes) -> None:
        self._kept += body

    def take(self, parser: httptools.HttpResponseParser, data: bytes) -> Iterator[BmcEvent]:
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise malformed("the event stream", type(error).__name__) from error
        code = parser.get_status_code()
        if code and code != 200:
            raise BmcUnavailable(f"the event stream was refused with status {code}", retry_after_s=60.0)
        *lines, self._kept = self._kept.replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            if line:
                self._lines.append(line)
            else:
                yield from _events(self._lines)
                self._lines = []
        if len(self._kept) + sum(map(len, self._lines)) > _MOST_EVENT:
            raise malformed("the event stream", f"an event larger than {_MOST_EVENT} bytes")


def _events(lines: list[bytes]) -> Iterator[BmcEvent]:
    """The events of one message; lines that are no data, and data that is no JSON, are passed over."""
    data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
    try:
        document = orjson.loads(data) if data else None
    except orjson.JSONDecodeError:
        return
    for event in objects(document.get("Events")) if isinstance(document, dict) else []:
        yield BmcEvent(
            message_id=text_of(event.get("MessageId")),
            message=text_of(event.get("Message")),
            severity=text_of(event.get("MessageSeverity")) or text_of(event.get("Severity")),
            origin=link_of(inner(event, "OriginOfCondition")) or text_of(event.get("OriginOfCondition")),
            at=text_of(event.get("EventTimestamp")),
        )
