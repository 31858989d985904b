"""One session per BMC: opened where the root says, closed on every way out, renewed once, replaced by Basic when the table is full."""

import asyncio
import logging

import pytest
from plain_host import SYSTEM, PlainHost, bmc_of
from tree_bmc import Asked, Reply, TreeBmc, error

from conftest import ACCOUNT, WallClock, factory, node
from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.model.errors import InputError, MachineFault, MetalwrightError
from metalwright.model.observation import Kind, Observation
from metalwright.model.secret import Secret
from metalwright.ports import SetPower


class SessionsOnPaper:
    """A session log that a successor can read."""

    def __init__(self) -> None:
        self.open: list[tuple[str, str]] = []
        self.when_opened: list[int] = []

    def opened(self, bmc: str, session: str) -> None:
        self.open.append((bmc, session))

    def left_over(self, bmc: str) -> tuple[str, ...]:
        return tuple(session for url, session in self.open if url == bmc)

    def closed(self, bmc: str, session: str) -> None:
        self.open.remove((bmc, session))


def test_one_session_serves_everything_and_is_deleted() -> None:
    """Reads and acts share one session; after close the BMC has none, and neither has the log."""

    async def run() -> None:
        log = SessionsOnPaper()
        async with bmc_of(PlainHost(), account=ACCOUNT) as bmc:
            driver = factory(sessions=log).open(node(bmc.url, "SN-1"))
            await asyncio.gather(*(driver.read(Kind.BMC_POWER) for _ in range(5)))
            await driver.act(SetPower(to="on"))
            assert len(bmc.sessions) == 1
            assert [path for _, path in log.open] == list(bmc.sessions.values())
            await driver.close()
            assert (bmc.sessions, log.open) == ({}, [])
            assert bmc.most_open <= 2
            assert len([asked for asked in bmc.requests("POST") if asked.path.endswith("Sessions")]) == 1

    asyncio.run(run())


def test_a_failing_act_leaves_no_session() -> None:
    """A refused write ends its session like any other (Q02)."""

    async def run() -> None:
        async with bmc_of(PlainHost(serial="other"), account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            with pytest.raises(MachineFault):
                await driver.act(SetPower(to="on"))
            await driver.close()
            assert bmc.sessions == {}

    asyncio.run(run())


def test_a_successor_deletes_what_was_left() -> None:
    """A session whose owner died is deleted by the next driver of that BMC, before its own login."""

    async def run() -> None:
        log = SessionsOnPaper()
        async with bmc_of(PlainHost(), account=ACCOUNT) as bmc:
            dead = factory(sessions=log).open(node(bmc.url, "SN-1"))
            await dead.read(Kind.BMC_POWER)
            (left,) = bmc.sessions.values()
            alive = factory(sessions=log).open(node(bmc.url, "SN-1"))
            await alive.read(Kind.BMC_POWER)
            assert left not in bmc.sessions.values()
            assert len(bmc.sessions) == 1
            await alive.close()
            dead._client.http.close()

    asyncio.run(run())


def test_two_drivers_of_one_process_leave_each_other_alone() -> None:
    """An observer and an executor may hold a session each: neither deletes the other's as left over."""

    async def run() -> None:
        log = SessionsOnPaper()
        shared = factory(sessions=log)
        async with bmc_of(PlainHost(), account=ACCOUNT) as bmc:
            observer, executor = (shared.open(node(bmc.url, "SN-1")) for _ in range(2))
            for driver in (observer, executor, observer, executor):
                assert (await driver.read(Kind.BMC_POWER)).failure == ""
            assert len(bmc.sessions) == 2
            assert len([asked for asked in bmc.requests("POST") if asked.path.endswith("Sessions")]) == 2
            await asyncio.gather(observer.close(), executor.close())
            assert (bmc.sessions, log.open) == ({}, [])

    asyncio.run(run())


def test_a_refused_account_is_not_tried_at_every_look() -> None:
    """Looks after a refusal do not log in, so that the account is not locked (Q64); a changed password is tried at once."""

    async def run() -> None:
        passwords = ["wrong"]
        makes = RedfishFactory(lambda _: (Secret(ACCOUNT[0]), Secret(passwords[-1])), MemoryPins(), WallClock())
        async with bmc_of(PlainHost(), account=ACCOUNT) as bmc:
            for _ in range(5):
                driver = makes.open(node(bmc.url, "SN-1"))
                assert (await driver.read(Kind.BMC_POWER)).failure_class == "unauthorized"
                await driver.close()
            assert len(bmc.requests("POST")) == 1
            passwords.append(ACCOUNT[1])
            driver = makes.open(node(bmc.url, "SN-1"))
            assert (await driver.read(Kind.BMC_POWER)).failure == ""
            await driver.close()

    asyncio.run(run())


def test_later_looks_need_few_requests() -> None:
    """The host is found once; then a power look is login, root, system, logout, in a driver of its own."""

    async def run() -> list[str]:
        shared = factory()
        async with bmc_of(PlainHost(), account=ACCOUNT) as bmc:
            for _ in range(2):
                bmc.asked.clear()
                driver = shared.open(node(bmc.url, "SN-1"))
                await driver.read(Kind.BMC_POWER)
                await driver.close()
            return [f"{asked.method} {asked.path}" for asked in bmc.asked]

    asked = asyncio.run(run())
    assert asked[:3] == ["GET /redfish/v1/", "POST /redfish/v1/SessionService/Sessions", f"GET {SYSTEM}"]
    assert asked[3].startswith("DELETE")
    assert len(asked) == 4


def test_a_lost_session_is_renewed_once() -> None:
    """401 in the middle of a run means one new login, and the read succeeds (Q03)."""

    async def run() -> None:
        async with bmc_of(PlainHost(), account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            await driver.read(Kind.BMC_POWER)
            bmc.sessions.clear()  # the BMC was reset
            assert (await driver.read(Kind.BMC_POWER)).failure == ""
            logins = [asked for asked in bmc.requests("POST") if asked.path.endswith("Sessions")]
            assert len(logins) == 2
            await driver.close()

    asyncio.run(run())


def test_refused_for_ever_is_unauthorized() -> None:
    """A BMC that takes the login and then refuses every request is asked twice, not for ever, and never with Basic."""

    async def run() -> Observation:
        async def refuse(bmc: TreeBmc, asked: Asked) -> Reply | None:
            assert "authorization" not in asked.headers
            return error(401, "Base.1.8.NoValidSession") if asked.path == SYSTEM else None

        async with TreeBmc(tree={}, handlers=[refuse, PlainHost().handle], account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            observation = await driver.read(Kind.BMC_POWER)
            assert len([asked for asked in bmc.asked if asked.path == SYSTEM]) == 2
            await driver.close()
            return observation

    assert asyncio.run(run()).failure_class == "unauthorized"


def test_full_session_table_falls_back_to_basic() -> None:
    """503 RAC0218 at login: the same read goes on with Basic (Q02)."""

    async def run() -> None:
        async with bmc_of(PlainHost(), account=ACCOUNT, session_seats=0) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            assert (await driver.read(Kind.BMC_POWER)).failure == ""
            assert any("authorization" in asked.headers for asked in bmc.asked)
            await driver.close()

    asyncio.run(run())


def test_no_session_service_means_basic() -> None:
    """A root without sessions (Q04) is served with Basic."""

    async def run() -> None:
        async def bare_root(bmc: TreeBmc, asked: Asked) -> Reply | None:
            if asked.path == "/redfish/v1/":
                return await TreeBmc(tree={"/redfish/v1": {"RedfishVersion": "1.0.0"}}).answer(asked)
            return None

        async with TreeBmc(tree={}, handlers=[bare_root, PlainHost().handle], account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            assert (await driver.read(Kind.BMC_POWER)).failure == "", "the Systems link is missing too (Q54)"
            await driver.close()

    asyncio.run(run())


def test_a_session_without_location_is_found_in_the_body() -> None:
    """201 without Location: the session is deleted by the path in its body (Q04)."""

    async def run() -> None:
        host = PlainHost()
        deleted: list[str] = []

        async def no_location(bmc: TreeBmc, asked: Asked) -> Reply | None:
            if asked.method == "POST" and asked.path.endswith("Sessions"):
                bmc.sessions["t"] = "/redfish/v1/SessionService/Sessions/9"
                return 201, {"X-Auth-Token": "t"}, b'{"@odata.id": "/redfish/v1/SessionService/Sessions/9"}'
            if asked.method == "DELETE":
                deleted.append(asked.path)
            return None

        async with TreeBmc(tree={}, handlers=[no_location, host.handle], account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            await driver.read(Kind.BMC_POWER)
            await driver.close()
        assert deleted == ["/redfish/v1/SessionService/Sessions/9"]

    asyncio.run(run())


def test_wrong_password_is_unauthorized_and_tried_once(caplog: pytest.LogCaptureFixture) -> None:
    """A refused account is not tried again within a read (it would lock the account, Q64), and appears nowhere."""
    caplog.set_level(logging.DEBUG)

    async def run() -> None:
        async with bmc_of(PlainHost(), account=("operator", "another")) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            observation = await driver.read(Kind.BMC_HARDWARE)
            await driver.close()
            assert observation.failure_class == "unauthorized"
            assert len(bmc.requests("POST")) == 1
            for text in (observation.failure, repr(observation), repr(driver), caplog.text):
                assert ACCOUNT[1] not in text

    asyncio.run(run())


def test_kept_alive_connection_that_drops_is_retried_once() -> None:
    """A BMC that drops reused connections (Q01) is read all the same, and soon gets a fresh connection per request."""

    async def run() -> None:
        async with bmc_of(PlainHost(), closes_after=1) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            for _ in range(4):
                assert (await driver.read(Kind.BMC_POWER)).failure == ""
            closing = [asked for asked in bmc.asked if asked.headers.get("connection") == "close"]
            assert closing, "after two drops the client says close itself"
            await driver.close()

    asyncio.run(run())


def test_a_write_is_never_sent_twice() -> None:
    """A reset whose connection dies is not repeated: its outcome is left to a fresh look."""

    async def run() -> None:
        host = PlainHost(power="On")
        sent = 0

        async def die(bmc: TreeBmc, asked: Asked) -> Reply | None:
            nonlocal sent
            if asked.path.endswith("ComputerSystem.Reset"):
                sent += 1
                await asyncio.Event().wait()
            return None

        from metalwright.drivers.redfish.limits import Bounds, Deadlines

        bounds = Bounds(deadlines=Deadlines(write_s=1.0))
        async with TreeBmc(tree={}, handlers=[die, host.handle]) as bmc:
            driver = factory(bounds).open(node(bmc.url, "SN-1"))
            with pytest.raises(MetalwrightError, match="no complete answer"):
                await driver.act(SetPower(to="reset"))
            await driver.close()
        assert sent == 1

    asyncio.run(run())


@pytest.mark.parametrize("url", ["ftp://10.0.0.1", "10.0.0.1", "https://", "https://u:p@10.0.0.1", "https://10.0.0.1:99999", "http://[::1"])
def test_urls_that_are_none(url: str) -> None:
    """A BMC URL that is wrong, or carries an account, is the operator's mistake, told without the password."""
    with pytest.raises(InputError) as caught:
        RedfishFactory(lambda _: (Secret("u"), Secret("p")), MemoryPins(), None).open(node(url))  # type: ignore[arg-type]
    assert "u:p" not in str(caught.value)
