"""A hostile or broken BMC costs bounded time and memory and leaves a clear failure class; the driver never raises in `read`."""

import asyncio
import gzip
import itertools
import ssl
import tracemalloc
from collections.abc import Awaitable, Callable

import orjson
import pytest
from plain_host import PlainHost, bmc_of
from tree_bmc import Asked, Reply, TreeBmc

from conftest import ACCOUNT, factory, node
from metalwright.drivers.redfish.limits import Bounds, Deadlines, Limits
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.model.errors import MachineFault
from metalwright.model.observation import HardwareSeen, Kind, Observation
from metalwright.ports import SetPower

QUICK = Bounds(
    limits=Limits(body_bytes=256 * 1024, documents=300, pages=20),
    deadlines=Deadlines(
        connect_s=5.0, request_s=1.0, slow_request_s=1.0, write_s=1.0, read_power_s=15.0, read_hardware_s=60.0, close_s=1.0
    ),
)
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
ROOT = {"RedfishVersion": "1.11.0", "Systems": {"@odata.id": "/redfish/v1/Systems"}}
SYSTEMS = {"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]}


def against(script: Script, kind: Kind = Kind.BMC_POWER) -> Observation:
    """One read from a server that does to each connection what the script says."""

    async def run() -> Observation:
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await script(reader, writer)
            except (ConnectionError, asyncio.CancelledError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        driver = factory(QUICK).open(node(url, "SN-1"))
        try:
            return await driver.read(kind)
        finally:
            await driver.close()
            for task in tasks:
                task.cancel()
            server.close()

    return asyncio.run(asyncio.wait_for(run(), 90))


def answering(head: bytes, body: bytes = b"") -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(head + body)
            await writer.drain()

    return script


def with_length(body: bytes, more: bytes = b"") -> Script:
    return answering(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (more, len(body)), body)


async def slow_loris(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    for byte in itertools.cycle(b"HTTP/1.1 200 OK\r\nX: y\r\n"):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def endless_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        await writer.drain()


async def endless_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Padding: " + b"a" * 4000 + b"\r\n")
        await writer.drain()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


async def cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n{"RedfishVersion"')
    await writer.drain()


@pytest.mark.parametrize(
    ("script", "failure_class"),
    [
        pytest.param(slow_loris, "timeout", id="slow-loris"),
        pytest.param(endless_body, "malformed", id="endless body"),
        pytest.param(endless_headers, "malformed", id="endless headers"),
        pytest.param(hang_up, "refused", id="hangs up"),
        pytest.param(cut_off, "refused", id="cut off in the body"),
        pytest.param(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"), "malformed", id="1 GB announced"),
        pytest.param(answering(b"SSH-2.0-OpenSSH_9.2\r\n"), "malformed", id="not HTTP"),
        pytest.param(with_length(b"<html><body>Login</body></html>"), "malformed", id="HTML"),
        pytest.param(with_length(b"[" * 10_000 + b"]" * 10_000), "malformed", id="10,000 deep"),
        pytest.param(with_length(b'{"a":' * 10_000 + b"1" + b"}" * 10_000), "malformed", id="10,000 deep objects"),
        pytest.param(with_length(b'{"RedfishVersion": "1.1'), "malformed", id="bad JSON"),
        pytest.param(with_length(b"\xff\xfe{}"), "malformed", id="bad UTF-8"),
        pytest.param(with_length(b"[]"), "malformed", id="a list"),
        pytest.param(with_length(b"{}"), "malformed", id="no service root"),
        pytest.param(with_length(gzip.compress(b" " * 50_000_000), b"Content-Encoding: gzip\r\n"), "malformed", id="zip bomb"),
        pytest.param(with_length(b"broken", b"Content-Encoding: gzip\r\n"), "malformed", id="broken gzip"),
        pytest.param(answering(b"HTTP/1.1 302 X\r\nLocation: /redfish/v1/\r\nContent-Length: 0\r\n\r\n"), "malformed", id="redirect loop"),
        pytest.param(
            answering(b"HTTP/1.1 302 X\r\nLocation: http://127.0.0.2/redfish/v1/\r\nContent-Length: 0\r\n\r\n"),
            "malformed",
            id="redirect to another host",
        ),
    ],
)
def test_bad_servers_are_bounded_and_named(script: Script, failure_class: str) -> None:
    """Each ends within its deadline, with its class, and with less memory than the body limit allows several times over."""
    tracemalloc.start()
    observation = against(script)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert observation.body is None
    assert observation.failure_class == failure_class
    assert observation.failure
    assert ACCOUNT[1] not in observation.failure
    assert peak < 12 * 1024 * 1024


def test_interim_answers_are_passed_over_and_not_for_ever() -> None:
    """100 Continue before the answer, in one piece or in bits, is no answer; a flood of them ends like endless headers."""
    body = orjson.dumps({"RedfishVersion": "1.0"})
    answer = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"
    root = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    async def in_bits(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await reader.readuntil(b"\r\n\r\n"):
            for byte in root if b" /redfish/v1/ " in request else answer:
                writer.write(bytes([byte]))
                await writer.drain()

    assert "404" in against(in_bits).failure, "the root was understood; its systems are not there"

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
            await writer.drain()

    assert against(flood).failure_class == "malformed"


def test_nobody_listens() -> None:
    """A closed port is `refused`."""

    async def run() -> Observation:
        driver = factory(QUICK).open(node("http://127.0.0.1:9", "SN-1"))
        return await driver.read(Kind.BMC_POWER)

    assert asyncio.run(run()).failure_class == "refused"


def test_a_bmc_that_is_mute_times_out() -> None:
    """Accepting and saying nothing is `timeout`, well before anybody's lease ends."""

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    assert against(mute).failure_class == "timeout"


def inventory(handler: Callable[[TreeBmc, Asked], Awaitable[Reply | None]], **tree: object) -> tuple[Observation, TreeBmc]:
    async def run() -> tuple[Observation, TreeBmc]:
        documents = {"/redfish/v1": {**ROOT, **tree}, "/redfish/v1/Systems": SYSTEMS, "/redfish/v1/Systems/1": {"SerialNumber": "SN-1"}}
        async with TreeBmc(tree=documents, handlers=[handler]) as bmc:
            driver = factory(QUICK).open(node(bmc.url, "SN-1"))
            try:
                return await driver.read(Kind.BMC_HARDWARE), bmc
            finally:
                await driver.close()

    return asyncio.run(asyncio.wait_for(run(), 90))


def test_pages_without_end_are_cut() -> None:
    """A collection whose next page always has a next page is read in part, and says so."""
    numbers = itertools.count()

    async def more(bmc: TreeBmc, asked: Asked) -> Reply | None:
        if not asked.path.startswith("/redfish/v1/Chassis"):
            return None
        following = f"/redfish/v1/Chassis?$skip={next(numbers)}"
        return 200, {}, orjson.dumps({"Members": [], "Members@odata.nextLink": following})

    observation, bmc = inventory(more, Chassis={"@odata.id": "/redfish/v1/Chassis"})
    assert isinstance(observation.body, HardwareSeen)
    assert any(gap.what == "chassis" and "pages without end" in gap.why for gap in observation.gaps)
    assert len(bmc.asked) < 40


def test_a_tree_without_end_is_cut() -> None:
    """A BMC that invents members for ever is left after the most documents an inventory may have, and the rest goes on."""

    async def endless(bmc: TreeBmc, asked: Asked) -> Reply | None:
        if asked.path.startswith("/redfish/v1/Chassis"):
            return 200, {}, orjson.dumps({"Members": [{"@odata.id": f"{asked.path}/{n}"} for n in range(1000)]})
        return None

    observation, bmc = inventory(endless, Chassis={"@odata.id": "/redfish/v1/Chassis"})
    assert isinstance(observation.body, HardwareSeen)
    assert observation.body.facts.identity.system_serial == "SN-1"
    assert "documents" in {gap.what for gap in observation.gaps}
    assert len(bmc.asked) < 320


def test_links_out_of_the_bmc_are_not_followed() -> None:
    """Links to other hosts, with line breaks, or that are no path are refused; what they should hold is a gap."""
    links = ["http://10.0.0.1/redfish/v1/Chassis", "//evil/redfish", "/redfish/v1/a\r\nX: y", "file:///etc/passwd", "/redfish/v1/a b"]

    async def no_more(bmc: TreeBmc, asked: Asked) -> Reply | None:
        return None

    for link in links:
        observation, bmc = inventory(no_more, Chassis={"@odata.id": link})
        assert isinstance(observation.body, HardwareSeen)
        assert "chassis" in {gap.what for gap in observation.gaps}
        assert {asked.path for asked in bmc.asked} <= {
            "/redfish/v1/",
            "/redfish/v1/Systems",
            "/redfish/v1/Systems/1",
            "/redfish/v1/SessionService/Sessions",
        }


def test_one_bad_member_never_fails_a_sweep() -> None:
    """A member that answers 500, HTML, a list, or a saved error body with 200 is a gap (Q54, Q56); the other is there."""
    replies: list[Reply] = [
        (500, {}, b"oops"),
        (200, {}, b"<html>"),
        (200, {}, b"[1]"),
        (200, {}, orjson.dumps({"error": {"code": "Base.1.18.1.InternalError", "message": "internal"}})),
    ]
    for bad in replies:

        async def drives(bmc: TreeBmc, asked: Asked, bad: Reply = bad) -> Reply | None:
            match asked.path:
                case "/redfish/v1/Chassis":
                    return 200, {}, orjson.dumps({"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]})
                case "/redfish/v1/Chassis/1":
                    return 200, {}, orjson.dumps({"Drives": {"@odata.id": "/redfish/v1/Chassis/1/Drives"}})
                case "/redfish/v1/Chassis/1/Drives":
                    members = [{"@odata.id": f"{asked.path}/{name}"} for name in ("good", "bad")]
                    return 200, {}, orjson.dumps({"Members": members})
                case "/redfish/v1/Chassis/1/Drives/good":
                    return 200, {}, orjson.dumps({"Id": "good", "SerialNumber": "D1", "CapacityBytes": "1000"})
                case "/redfish/v1/Chassis/1/Drives/bad":
                    return bad
            return None

        observation, _ = inventory(drives, Chassis={"@odata.id": "/redfish/v1/Chassis"})
        assert isinstance(observation.body, HardwareSeen)
        facts = observation.body.facts
        assert [(drive.serial, drive.size_bytes) for drive in facts.drives] == [("D1", 1000)]
        assert "drives/bad" in {gap.what for gap in facts.gaps}
        assert facts.warnings >= 1, "a number written as text is counted (Q50)"


def test_a_changed_certificate_gets_no_credentials(make_tls: Callable[[], ssl.SSLContext]) -> None:
    """The first certificate is pinned, dates or not (Q08); another one later sees not one request, for reads and for acts."""

    async def run() -> None:
        pins = MemoryPins()
        host = PlainHost(power="Off")
        async with bmc_of(host, tls=make_tls(), account=ACCOUNT) as bmc:
            driver = factory(QUICK, pins).open(node(bmc.url, "SN-1"))
            assert (await driver.read(Kind.BMC_POWER)).failure == ""
            await driver.close()
        (pin,) = pins.pins.values()
        async with bmc_of(host, tls=make_tls(), account=ACCOUNT) as other:
            pins.put(other.url, pin)
            driver = factory(QUICK, pins).open(node(other.url, "SN-1"))
            for kind in (Kind.BMC_POWER, Kind.BMC_HARDWARE):
                assert (await driver.read(kind)).failure_class == "certificate"
            with pytest.raises(MachineFault, match="certificate"):
                await driver.act(SetPower(to="on"))
            await driver.close()
            assert other.asked == []
            assert pins.get(other.url) == pin

    asyncio.run(run())


def test_a_given_fingerprint_wins_over_first_use(make_tls: Callable[[], ssl.SSLContext]) -> None:
    """With a fingerprint in the spec nothing is trusted on first use; colons and case do not matter."""

    async def run() -> None:
        pins = MemoryPins()
        async with bmc_of(PlainHost(), tls=make_tls()) as bmc:
            first = factory(QUICK, pins).open(node(bmc.url, "SN-1"))
            await first.read(Kind.BMC_POWER)
            await first.close()
            (pin,) = pins.pins.values()
            hexes = pin.removeprefix("sha256:").upper()
            colons = "SHA256:" + ":".join(hexes[i : i + 2] for i in range(0, 64, 2))
            for fingerprint, failure_class in ((colons, ""), ("sha256:" + "0" * 64, "certificate")):
                driver = factory(QUICK, MemoryPins()).open(node(bmc.url, "SN-1", fingerprint))
                assert (await driver.read(Kind.BMC_POWER)).failure_class == failure_class
                await driver.close()

    asyncio.run(run())


def test_plain_http_behind_an_https_url() -> None:
    """Speaking TLS to a plain server ends as `refused`, at once."""

    async def run() -> Observation:
        async with bmc_of(PlainHost()) as bmc:
            driver = factory(QUICK).open(node(bmc.url.replace("http:", "https:"), "SN-1"))
            return await driver.read(Kind.BMC_POWER)

    assert asyncio.run(run()).failure_class in ("refused", "timeout")
