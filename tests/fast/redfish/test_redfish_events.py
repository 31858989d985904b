"""Events are hints: read from streams with holes in them, bounded, and never needed."""

import asyncio
from typing import Any

import orjson
import pytest
from editable_bmc import EditableBmc, link
from tree_bmc import Asked, Reply, TreeBmc, error

from conftest import ACCOUNT, factory, node
from metalwright.drivers.redfish.events import BmcEvent, stream_events, subscribe, unsubscribe
from metalwright.model.errors import MachineFault, MetalwrightError, TemporaryError

SERVICE = "/redfish/v1/EventService"


def bmc_with(**service: Any) -> EditableBmc:
    bmc = EditableBmc({SERVICE: {"ServerSentEventUri": f"{SERVICE}/SSE", "Subscriptions": link(f"{SERVICE}/Subscriptions"), **service}})
    return bmc.root(EventService=link(SERVICE))


def streamed(body: bytes, most: int = 10) -> tuple[list[BmcEvent], MetalwrightError | None]:
    """What the driver makes of a stream with this body; after it there is silence."""

    async def sse(bmc: TreeBmc, asked: Asked) -> Reply | None:
        if asked.path != f"{SERVICE}/SSE":
            return None
        assert asked.headers["accept"] in ("application/json", "text/event-stream")
        assert asked.headers.get("x-auth-token") in bmc.sessions
        return 200, {}, body

    async def run() -> tuple[list[BmcEvent], MetalwrightError | None]:
        found: list[BmcEvent] = []
        async with TreeBmc(tree={}, handlers=[sse, bmc_with().handle], account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            try:
                async for event in stream_events(driver._client, silence_s=1.0):
                    found.append(event)
                    if len(found) == most:
                        return found, None
            except MetalwrightError as failure:
                return found, failure
            finally:
                await driver.close()
        raise AssertionError("a stream does not end by itself")

    return asyncio.run(run())


def test_events_with_holes_are_still_hints() -> None:
    """Events without ids, types or origins, foreign times, comments and broken JSON: what is there is given, in order."""
    whole = {"MessageId": "ResourceEvent.1.0.ResourceErrorsDetected", "Message": "XID 79", "MessageSeverity": "Critical",
             "OriginOfCondition": link("/redfish/v1/Chassis/HGX_GPU_SXM_1"), "EventTimestamp": "2024-01-01T00:00:00-0600"}  # fmt: skip
    body = b": hello\n\nid: 1\ndata: " + orjson.dumps({"Events": [whole, {"Severity": "Warning"}]}) + b"\r\n\r\n"
    body += b"data: {broken\n\ndata: []\n\n" + b'data: {"Events":\ndata: [{"Message": "last"}]}\n\n'
    events, _ = streamed(body, most=3)
    assert [event.message for event in events] == ["XID 79", None, "last"]
    assert events[0].origin == "/redfish/v1/Chassis/HGX_GPU_SXM_1"
    assert events[0].at == "2024-01-01T00:00:00-0600"
    assert events[1].severity == "Warning"


def test_a_stream_that_ends_says_so() -> None:
    """The end, or silence, is for the loop: it polls."""
    events, failure = streamed(b'data: {"Events": [{"Message": "one"}]}\n\n')
    assert len(events) == 1
    assert isinstance(failure, TemporaryError)


def test_a_stream_without_end_of_event_is_left() -> None:
    """An event larger than any honest one is refused."""
    events, failure = streamed(b"data: " + b"x" * 600_000)
    assert events == []
    assert failure is not None
    assert "larger" in failure.message


def test_no_stream_is_told() -> None:
    """A BMC without a stream, or without an event service, is polled: no error for a person to chase."""

    async def run(bmc: EditableBmc) -> None:
        async with bmc.listening() as listening:
            driver = factory().open(node(listening.url, "SN-1"))
            try:
                async for _ in driver.events():
                    pass
            finally:
                await driver.close()

    for bmc in (bmc_with(ServerSentEventUri=None), EditableBmc({})):
        with pytest.raises(MachineFault) as caught:
            asyncio.run(run(bmc))
        assert "polled" in caught.value.hint


def test_subscription_forms() -> None:
    """Without EventTypes first; with them where a BMC insists; gone is ended too."""
    bmc = bmc_with()
    made = f"{SERVICE}/Subscriptions/1"

    def insist(asked: Asked) -> Reply:
        return (201, {"Location": made}, b"{}") if "EventTypes" in asked.json() else error(400, "Base.1.8.PropertyMissing")

    bmc.posts = {f"{SERVICE}/Subscriptions": insist}

    async def run() -> str:
        async with bmc.listening() as listening:
            driver = factory().open(node(listening.url, "SN-1"))
            try:
                path = await subscribe(driver._client, "https://10.0.0.1/events", "n1")
                await unsubscribe(driver._client, path)
                return path
            finally:
                await driver.close()

    assert asyncio.run(run()) == made
    assert len(bmc.posted) == 2
