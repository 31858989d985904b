"""Each fault turns the right findings red or undetermined, no others, and clears without a trace."""

import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from metalwright.codec import library
from metalwright.gates.registry import CHECKS, SITE_CHECKS
from metalwright.model.errors import InputError
from metalwright.model.hardware import PowerState
from metalwright.model.ids import NodeName
from metalwright.model.judgement import Result
from metalwright.simulator.control import ask, socket_path
from metalwright.simulator.faults import FAULTS
from metalwright.simulator.site import SimulatedSite
from tests.fast.simulator.judged import colours, looked_at, with_everything_bought
from tests.fast.simulator.redfish_client import Client
from tests.fast.simulator.simulated_runs import PASSWORD, USER, RecordingProgram, running, until
from tests.fast.simulator.simulated_sites import SMALL, make_site

N1, N2 = NodeName("n1"), NodeName("n2")
HOST = "/redfish/v1/Systems/System_0"
BY_BMC = sorted(name for name, fault in FAULTS.items() if fault.world or name in {"bmc-mute", "bmc-slow"})
"""Faults that one look at BMC and agent shows; the others need a run of the whole site."""


def with_site(folder: Path, story: Callable[[SimulatedSite], Awaitable[None]], count: int = 2) -> None:
    async def run() -> None:
        async with running(with_everything_bought(make_site(count, profile=SMALL)), folder, RecordingProgram()) as site:
            for machine in site.machines.values():
                await machine.set_power("on")
            await until(lambda: all(machine.standing.power is PowerState.ON for machine in site.machines.values()))
            await story(site)

    asyncio.run(run())


def test_an_intact_server_is_green(tmp_path: Path) -> None:
    """Without a fault every check of the inventory and firmware gates passes: what turns red below is the fault's doing."""

    async def story(site: SimulatedSite) -> None:
        found = colours(await looked_at(site, N1))
        assert set(found.values()) == {Result.PASS}, found

    with_site(tmp_path, story)


@pytest.mark.parametrize("name", BY_BMC)
def test_fault_turns_its_checks_and_no_others(tmp_path: Path, name: str) -> None:
    """Exactly the declared checks turn red, exactly the declared ones undetermined; the neighbour stays green; clearing heals."""

    async def story(site: SimulatedSite) -> None:
        site.faults.inject(name, N1, {})
        found = colours(await looked_at(site, N1))
        fault = FAULTS[name]
        declared = dict.fromkeys(fault.turns_red & found.keys(), Result.FAIL)
        declared |= dict.fromkeys(fault.turns_undetermined & found.keys(), Result.UNDETERMINED)
        assert {check: result for check, result in found.items() if result is not Result.PASS} == declared
        assert set(colours(await looked_at(site, N2)).values()) == {Result.PASS}
        site.faults.clear(fault=name)
        assert set(colours(await looked_at(site, N1)).values()) == {Result.PASS}
        assert site.world.parts(N1) == site.world.intact_parts(N1)

    with_site(tmp_path, story)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_declared_checks_exist(fault: object) -> None:
    """A fault names only checks that the gates have, so that a renamed check cannot silently lose its fault."""
    known = {check.id for check in (*CHECKS, *SITE_CHECKS)}
    assert fault.turns_red | fault.turns_undetermined <= known  # type: ignore[attr-defined]


def test_every_node_check_has_a_fault() -> None:
    """For every check of a node there is a fault that turns it red, but for the named ones."""
    without = {"inventory.bmc-answers", "os.boot"}  # two machines at one address; a system that keeps the RAM disk's boot id: no fault yet
    red = {check for fault in FAULTS.values() for check in fault.turns_red}
    assert {check.id for check in CHECKS} - red == without


def test_power_lies(tmp_path: Path) -> None:
    """The BMC says yes and nothing happens; LastResetTime does not move either."""

    async def story(site: SimulatedSite) -> None:
        client = Client(site.world.node(N1).bmc, USER, PASSWORD)
        site.faults.inject("power-lies", N1, {})
        before = (await client.get(HOST)).body
        assert (await client.post(f"{HOST}/Actions/ComputerSystem.Reset", {"ResetType": "ForceOff"})).status == 204
        assert (await client.get(HOST)).body == before
        assert await site.machines[N1].power() is PowerState.ON

    with_site(tmp_path, story)


def test_sessions_are_forgotten_after_a_reset(tmp_path: Path) -> None:
    """401 on the old token after a reset, and a new login works."""

    async def story(site: SimulatedSite) -> None:
        url = site.world.node(N1).bmc
        site.faults.inject("bmc-401-after-reset", N1, {})
        login = {"UserName": USER, "Password": PASSWORD}
        token = (await Client(url).post("/redfish/v1/SessionService/Sessions", login)).headers["x-auth-token"]
        client = Client(url, token=token)
        assert (await client.post(f"{HOST}/Actions/ComputerSystem.Reset", {"ResetType": "ForceRestart"})).status == 204
        assert (await client.get(HOST)).status == 401
        assert (await Client(url).post("/redfish/v1/SessionService/Sessions", login)).status == 201

    with_site(tmp_path, story)


@pytest.mark.parametrize(
    ("name", "node", "arguments"),
    [
        ("missing-gpu", "n1", {"gpu": "77"}),
        ("missing-gpu", "n1", {"colour": "1"}),
        ("missing-gpu", "n9", {}),
        ("no-such-fault", "n1", {}),
        ("degraded-nvlink", "n1", {"how": "sideways"}),
        ("degraded-nvlink", "n1", {"port": "-1"}),
        ("bmc-slow", "n1", {"seconds": "nan"}),
        ("wrong-firmware", "n1", {"component": "Toaster"}),
        ("wrong-serial", "n1", {"witness": "nobody"}),
    ],
)
def test_refused_faults_change_nothing(tmp_path: Path, name: str, node: str, arguments: dict[str, str]) -> None:
    """A fault that makes no sense is refused with a hint, and nothing holds afterwards."""

    async def story(site: SimulatedSite) -> None:
        with pytest.raises(InputError) as refused:
            site.faults.inject(name, NodeName(node), arguments)
        assert refused.value.hint
        assert site.faults.held() == ()
        assert site.world.parts(N1) == site.world.intact_parts(N1)

    with_site(tmp_path, story, count=1)


def test_faults_survive_a_restart(tmp_path: Path) -> None:
    """What held before the simulator was stopped holds after; a broken file is no obstacle."""

    async def run() -> None:
        stored = make_site(1, profile=SMALL)
        async with running(stored, tmp_path, RecordingProgram()) as site:
            site.faults.inject("missing-nic", N1, {"nic": "1"})
        async with running(stored, tmp_path, RecordingProgram()) as site:
            assert [held.fault for held in site.faults.held()] == ["missing-nic"]
            assert len(site.world.parts(N1).nics) == SMALL.nics
        (tmp_path / "faults.json").write_text("[{")
        async with running(stored, tmp_path, RecordingProgram()) as site:
            assert site.faults.held() == ()

    asyncio.run(run())


# -- the control socket --------------------------------------------------------------------------------------------------------


def test_control_socket_from_fault_to_clear(tmp_path: Path) -> None:
    """list, fault, state, act and clear over the socket, which only its owner may use."""

    async def story(site: SimulatedSite) -> None:
        def talk() -> None:
            assert stat.S_IMODE(socket_path(tmp_path).stat().st_mode) == 0o600
            assert {"missing-gpu", "bmc-mute"} <= {fault["name"] for fault in ask(tmp_path, {"do": "list"})["faults"]}
            held = ask(tmp_path, {"do": "fault", "name": "missing-gpu", "node": "n1", "arguments": {"gpu": "GPU_SXM_2"}})["fault"]
            assert held == {"number": 1, "fault": "missing-gpu", "node": "n1", "arguments": {"gpu": "GPU_SXM_2"}}
            assert ask(tmp_path, {"do": "act", "name": "power-cut", "node": "n2"})["done"] == "n2: power-cut"
            state = ask(tmp_path, {"do": "state"})
            assert [node["power"] for node in state["nodes"]] == ["on", "off"]
            assert state["faults"] == [held]
            assert ask(tmp_path, {"do": "clear", "number": 1})["cleared"] == [held]

        await asyncio.to_thread(talk)
        assert await site.machines[N2].power() is PowerState.OFF

    with_site(tmp_path, story)


@pytest.mark.parametrize(
    "request_",
    [
        {},
        [],
        {"do": "explode"},
        {"do": "fault"},
        {"do": "fault", "name": "bmc-mute", "node": "n9"},
        {"do": "fault", "name": "bmc-mute", "node": "n1", "arguments": [1]},
        {"do": "clear", "number": "x"},
        {"do": "act", "name": "dance", "node": "n1"},
    ],
)
def test_senseless_requests_get_an_error(tmp_path: Path, request_: object) -> None:
    """Each is refused in words, and the socket goes on answering."""

    async def story(site: SimulatedSite) -> None:
        def talk() -> None:
            with pytest.raises(InputError):
                ask(tmp_path, request_)  # type: ignore[arg-type]
            ask(tmp_path, {"do": "list"})

        await asyncio.to_thread(talk)

    with_site(tmp_path, story, count=1)


def test_nobody_there(tmp_path: Path) -> None:
    """Without a simulator the command line gets an error that says how to start one."""
    with pytest.raises(InputError) as refused:
        ask(tmp_path, {"do": "list"})
    assert "simulate serve" in refused.value.hint


def test_deep_state_folder_works(tmp_path: Path) -> None:
    """A path longer than a socket address may be is no obstacle."""
    deep = tmp_path / ("d" * 90) / ("e" * 90)

    async def story(site: SimulatedSite) -> None:
        answer = await asyncio.to_thread(ask, deep, {"do": "state"})
        assert json.dumps(answer)

    with_site(deep, story, count=1)


def test_one_simulator_per_state_folder(tmp_path: Path) -> None:
    """A second simulator on the same folder is refused; the first goes on."""

    async def story(site: SimulatedSite) -> None:
        with pytest.raises(InputError, match="already serves"):
            async with running(make_site(1, profile=SMALL), tmp_path, RecordingProgram()):
                pass
        await asyncio.to_thread(ask, tmp_path, {"do": "list"})

    with_site(tmp_path, story, count=1)


def test_the_document_lists_every_fault() -> None:
    """docs/simulator.md names each fault with its arguments and checks, as they are in the code."""
    rows = (Path(__file__).parents[3] / "docs/simulator.md").read_text().splitlines()
    for fault in FAULTS.values():
        arguments = " ".join(f"`{name}={value}`" for name, value in fault.defaults.items()) or "–"
        red, undetermined = (", ".join(sorted(checks)) or "–" for checks in (fault.turns_red, fault.turns_undetermined))
        assert f"| `{fault.name}` | {fault.summary} | {arguments} | {red} | {undetermined} |" in rows


@pytest.mark.parametrize("profile", sorted(library.profiles()))
def test_an_intact_server_of_every_profile_is_green(tmp_path: Path, profile: str) -> None:
    """Whatever hardware profile the library has, its simulated server passes the gates: the simulator knows them all."""

    async def run() -> None:
        stored = with_everything_bought(make_site(1, profile=library.profiles()[profile]))
        async with running(stored, tmp_path, RecordingProgram()) as site:
            machine = site.machines[N1]
            await machine.set_power("on")
            await until(lambda: machine.standing.power is PowerState.ON)
            found = colours(await looked_at(site, N1))
            assert set(found.values()) <= {Result.PASS, Result.NOT_APPLICABLE}, found

    asyncio.run(run())
