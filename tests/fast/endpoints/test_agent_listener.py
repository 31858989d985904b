"""The agent listener: a token becomes one session or none, orders arrive when made, and nothing hostile gets beyond its answer."""

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict, replace

import pytest

from metalwright.agent.http_client import HttpClient, HttpError
from metalwright.gates.inventory import boot_claims
from metalwright.gates.judge import judge_check
from metalwright.model.agent_messages import Progress, RawInventory, Report
from metalwright.model.judgement import Result
from metalwright.model.observation import BootClaimsSeen, BootSeen, HardwareSeen, Kind, Witness
from metalwright.model.work import OperationState
from tests.fast.endpoints.listening import MINE, NODE, THEIRS, Listening, claim_of
from tests.fast.gates.cases import healthy, seeing

Site = Callable[[], AbstractAsyncContextManager[Listening]]


async def test_a_token_is_claimed_once_and_a_lost_answer_is_no_second_claim(site: Site) -> None:
    """The claim names the node, is recorded as a boot, and may be asked again with the same session."""
    async with site() as here:
        token = await here.grant()
        for _ in range(2):
            answer = await here.claim(token)
            assert answer.status == 200 and json.loads(answer.body)["node"] == "a0-0"
        boot = await here.seen(Kind.AGENT_BOOT)
        assert boot is not None and isinstance(boot.body, BootSeen) and boot.body.boot_id == "boot-1"
        assert (await here.poll(MINE)).status == 204


async def test_a_second_claim_revokes_both_and_is_red(site: Site) -> None:
    """Neither claimant has a session any more, and the check on boot tokens fails on what the listener wrote down."""
    async with site() as here:
        token = await here.grant()
        assert (await here.claim(token)).status == 200
        assert (await here.claim(token, THEIRS)).status == 409
        assert [(await here.poll(session)).status for session in (MINE, THEIRS)] == [401, 401]
        assert (await here.claim(token)).status == 409
        look = await here.seen(Kind.BOOT_CLAIMS)
        assert look is not None and isinstance(look.body, BootClaimsSeen) and look.body.conflicts
        (finding,) = judge_check(seeing(healthy(), Kind.BOOT_CLAIMS, Witness.ENDPOINT, look.body), boot_claims.CHECK)
        assert finding.result is Result.FAIL


@pytest.mark.parametrize(("opens_in", "expires_in"), [(30.0, 60.0), (-60.0, -1.0)], ids=["before our power-on", "too late"])
async def test_outside_its_window_a_token_is_worth_nothing(site: Site, opens_in: float, expires_in: float) -> None:
    """The claim is refused and leaves no mark: it is no second claim of the machine that comes in time."""
    async with site() as here:
        answer = await here.claim(await here.grant(opens_in=opens_in, expires_in=expires_in))
        grant = await here.granted()
        assert (answer.status, grant.claimed_at, grant.conflicts) == (401, None, 0)


async def test_a_guessed_token_and_a_foreign_stage_are_refused(site: Site) -> None:
    """An unknown token has no claim; a RAM disk's token makes no installed system."""
    async with site() as here:
        token = await here.grant()
        assert (await here.claim("0" * 64)).status == 401
        assert (await here.claim(token, stage="installed")).status == 409


CLAIM = asdict(claim_of("t"))


RUBBISH = [
    (b"", 400),
    (b"\xff\xfe{}", 400),
    (b"[" * 10_000, 400),
    (b'{"token": 1}', 400),
    (json.dumps({**CLAIM, "session": "short"}).encode(), 400),
    (json.dumps({**CLAIM, "token": ["x"]}).encode(), 400),
    (json.dumps({**CLAIM, "kernel": "x" * 20_000}).encode(), 413),
    (json.dumps({**CLAIM, "token": "\x00\ud800"}).encode(), 400),
]


async def test_what_is_no_claim_is_answered_and_forgotten(site: Site) -> None:
    """Empty, no text, deep, of wrong types, too large, half a character: a status each, and the next claim is served as ever."""
    async with site() as here:
        token = await here.grant()
        for body, status in RUBBISH:
            assert (await here.to_agents("POST", "/agent/v1/claim", body)).status == status, body[:80]
        assert (await here.claim(token)).status == 200


async def test_without_its_session_nobody_reports_or_gets_orders(site: Site) -> None:
    """No bearer, a wrong one, another scheme, the token instead of the session: 401; an unknown call: 404."""
    async with site() as here:
        token = await here.grant()
        await here.claim(token)
        for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Basic {MINE}"}, {"Authorization": f"Bearer {token}"}):
            for method, path in (("GET", "/agent/v1/order"), ("POST", "/agent/v1/report")):
                assert (await here.to_agents(method, path, b"{}", **headers)).status == 401
        assert (await here.to_agents("GET", "/agent/v1/report", session=MINE)).status == 404


async def test_an_order_made_while_the_agent_waits_arrives_at_once(site: Site) -> None:
    """A long poll of 20 s ends with the order, not with its time; a cancelled operation is handed out as such."""
    async with site() as here:
        await here.claim(await here.grant())
        began = time.monotonic()
        waiting = asyncio.create_task(here.poll(MINE, "20"))
        assert (await here.poll(MINE)).status == 204 and not waiting.done()
        ordered = await here.order_write()
        answer = json.loads((await waiting).body)
        assert (answer["kind"], answer["operation"], answer["serial"]) == ("write-image", ordered.id, "S")
        assert time.monotonic() - began < 4.0, "it came by the look every five seconds, not by the hint"
        await here.order_write(cancel_wanted=True)
        assert json.loads((await here.poll(MINE)).body)["kind"] == "cancel"


async def test_a_listener_that_stops_lets_its_agents_go(site: Site) -> None:
    """A long poll is answered when the server ends, so that no restart waits for it."""
    async with site() as here:
        await here.claim(await here.grant())
        waiting = asyncio.create_task(here.poll(MINE, "20"))
        assert (await here.poll(MINE)).status == 204 and not waiting.done()
        here.apps.stopping.set()
        here.hints.wake_all()
        async with asyncio.timeout(4.0):
            assert (await waiting).status == 204


async def test_a_strange_waiting_time_is_none(site: Site) -> None:
    """Answered at once."""
    async with site() as here:
        await here.claim(await here.grant())
        for wait in ("", "-1", "nan", "1e9", "%B2", "%C2%B2", "0&wait_s=9", "x" * 500):
            async with asyncio.timeout(4.0):
                assert (await here.poll(MINE, wait)).status == 204, wait


async def test_an_installed_system_is_not_ordered_to_overwrite_itself(site: Site) -> None:
    """Write orders go to RAM disks alone."""
    async with site() as here:
        await here.claim(await here.grant(stage="installed"), stage="installed")
        await here.order_write()
        assert (await here.poll(MINE)).status == 204


async def test_progress_counts_for_the_nodes_own_open_operation_alone(site: Site) -> None:
    """Another operation's id, an unknown state and negative counts change nothing that they should not."""
    async with site() as here:
        await here.claim(await here.grant())
        own = await here.order_write()
        told = Progress(operation=own.id, generation=1, state="running", units_done=-5, units_total=10)
        for progress in (replace(told, operation="9/9/9", state="done"), replace(told, state="exploded"), told):
            assert (await here.report(MINE, Report(boot_id="boot-1", progress=progress))).status == 204
        (row,) = await here.store.load([NODE])
        (stored,) = row.operations
        assert (stored.state, stored.units_done, stored.units_total) == (OperationState.RUNNING, 0, 10)


async def test_a_hostile_inventory_becomes_gaps(site: Site) -> None:
    """Texts that are no Linux and numbers that are no numbers are taken, and read as unknown."""
    async with site() as here:
        await here.claim(await here.grant())
        files = {
            "/proc/cpuinfo": "\x00" * 1000,
            "/proc/meminfo": "MemTotal: 99999999999999999999999 kB",
            "/sys/bus/pci/devices/x/y": "\ud7ff",
        }
        report = Report(boot_id="boot-1", inventory=RawInventory(files=files, unreadable={"/sys/block": "no\x1b[2J"}))
        assert (await here.report(MINE, report)).status == 204
        look = await here.seen(Kind.AGENT_HARDWARE)
        assert look is not None and isinstance(look.body, HardwareSeen)
        assert look.body.facts.memory_mib is None and look.body.facts.gaps


async def test_nothing_is_said_to_a_server_with_another_certificate(site: Site) -> None:
    """The pin differs: the client hangs up before the first byte, and the token stays unclaimed."""
    async with site() as here:
        token = await here.grant()
        client = HttpClient(here.agent_url, "sha256:" + "00" * 32)
        with pytest.raises(HttpError, match="another certificate"):
            await client.request("POST", "/agent/v1/claim", body=json.dumps(asdict(claim_of(token))).encode(), limit=1000)
        assert (await here.granted()).claimed_at is None


async def test_small_answers_are_sent_without_delay(site: Site) -> None:
    """TCP_NODELAY is set on accepted connections: else head and body of an answer are 40 ms apart."""
    async with site() as here:
        _, writer = await asyncio.open_connection("127.0.0.1", int(here.boot_url.rpartition(":")[2]))
        own = writer.get_extra_info("sockname")
        accepted = None
        async with asyncio.timeout(4.0):
            while accepted is None:
                await asyncio.sleep(0)
                accepted = _connected_to(own)
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()


def _connected_to(peer: tuple[str, int]) -> socket.socket | None:
    """This process's own end of the connection whose other end is `peer`."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found = socket.socket(fileno=os.dup(int(name)))
            with suppress(OSError):
                if found.getpeername() == peer:
                    return found
            found.close()
    return None
