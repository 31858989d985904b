"""The Redfish face: what any client may rely on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest

from metalwright.model.spec import StoredSpec
from metalwright.simulator.site import SimulatedSite
from tests.fast.simulator.redfish_client import Client
from tests.fast.simulator.simulated_runs import PASSWORD, USER, RecordingProgram, running
from tests.fast.simulator.simulated_sites import H100, SMALL, make_site

V1 = "/redfish/v1"
HOST = f"{V1}/Systems/System_0"


def on_bmc(folder: Path, talk: Callable[[Client, SimulatedSite], Awaitable[None]], stored: StoredSpec | None = None) -> None:
    """Serve one node and talk to its BMC with the factory account."""
    site_spec = stored or make_site()

    async def run() -> None:
        async with running(site_spec, folder, RecordingProgram()) as site:
            await talk(Client(site_spec.spec.nodes[0].bmc, USER, PASSWORD), site)

    asyncio.run(run())


def test_every_link_leads_somewhere(tmp_path: Path) -> None:
    """Every @odata.id that any resource shows can be read, and shows itself under that id."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        seen, waiting = set[str](), [f"{V1}/"]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            reply = await client.get(path)
            assert reply.status == 200, path
            assert reply.body["@odata.id"] == path.partition("?")[0]
            waiting += links_in(reply.body)
        assert len(seen) > 100
        assert f"{V1}/Systems/HGX_Baseboard_0/Processors/GPU_SXM_2/Ports/NVLink_3" in seen

    on_bmc(tmp_path, talk, make_site(profile=SMALL))


def links_in(value: Any) -> list[str]:
    """Every @odata.id and next link inside a document."""
    if isinstance(value, dict):
        own = [urldefrag(value[key])[0] for key in ("@odata.id", "Members@odata.nextLink") if isinstance(value.get(key), str)]
        return own + [found for each in value.values() for found in links_in(each)]
    return [found for each in value for found in links_in(each)] if isinstance(value, list) else []


def test_service_root_says_it_is_simulated(tmp_path: Path) -> None:
    """Anyone can tell a simulated BMC from a real one, without logging in."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        root = await Client(client.url).get(f"{V1}/")
        assert root.body["Oem"]["Metalwright"]["Simulated"] is True

    on_bmc(tmp_path, talk)


@pytest.mark.parametrize("path", [HOST, f"{V1}/Systems", f"{V1}/AccountService/Accounts", f"{V1}/SessionService/Sessions"])
def test_nothing_is_read_without_login(tmp_path: Path, path: str) -> None:
    """Only the root, its OData documents and the schema are open; everything else is 401 with a challenge."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        for stranger in (Client(client.url), Client(client.url, USER, "wrong"), Client(client.url, token="wrong")):
            reply = await stranger.get(path)
            assert reply.status == 401
            assert "www-authenticate" in reply.headers
            assert reply.body["error"]["@Message.ExtendedInfo"]

    on_bmc(tmp_path, talk)


def test_session_from_login_to_logout(tmp_path: Path) -> None:
    """A session's token works until the session is deleted, and not one request longer."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        login = await Client(client.url).post(f"{V1}/SessionService/Sessions", {"UserName": USER, "Password": PASSWORD})
        assert login.status == 201
        session = Client(client.url, token=login.headers["x-auth-token"])
        assert (await session.get(HOST)).status == 200
        assert (await session.delete(login.headers["location"])).status == 204
        assert (await session.get(HOST)).status == 401

    on_bmc(tmp_path, talk)


def test_sessions_run_out(tmp_path: Path) -> None:
    """A leaking client meets 503, as on real BMCs, and a session that ends makes room again."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        logins = [await client.post(f"{V1}/SessionService/Sessions", {"UserName": USER, "Password": PASSWORD}) for _ in range(33)]
        assert [login.status for login in logins] == [201] * 32 + [503]
        await client.delete(logins[0].headers["location"])
        assert (await client.post(f"{V1}/SessionService/Sessions", {"UserName": USER, "Password": PASSWORD})).status == 201

    on_bmc(tmp_path, talk)


def test_long_collections_come_in_pages(tmp_path: Path) -> None:
    """Sensors of an 8-GPU server take more than one page; the pages together hold every member once."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        path, members = f"{V1}/Chassis/Chassis_0/Sensors", []
        while path:
            page = (await client.get(path)).body
            members += [member["@odata.id"] for member in page["Members"]]
            path = page.get("Members@odata.nextLink", "")
        assert len(members) == page["Members@odata.count"] == len(set(members)) > 50

    on_bmc(tmp_path, talk)


def test_expand_gives_what_get_gives(tmp_path: Path) -> None:
    """An expanded member is the document that its own GET returns, without the ETag of the transport."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        expanded = (await client.get(f"{HOST}/Memory?$expand=.($levels=1)")).body["Members"]
        assert len(expanded) == 32
        own = (await client.get(expanded[3]["@odata.id"])).body
        del own["@odata.etag"]
        assert expanded[3] == own

    on_bmc(tmp_path, talk)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PATCH", HOST, b"{", 400),
        ("PATCH", HOST, [1], 400),
        ("PATCH", HOST, {"Colour": 1}, 400),
        ("PATCH", HOST, {"SerialNumber": "x"}, 400),
        ("PATCH", HOST, {"Boot": 3}, 400),
        ("PATCH", HOST, {"Boot": {"BootSourceOverrideTarget": "Moon"}}, 400),
        ("PATCH", HOST, {"Boot": {"BootSourceOverrideEnabled": ["Once"]}}, 400),
        ("POST", f"{HOST}/Actions/ComputerSystem.Reset", {}, 400),
        ("POST", f"{HOST}/Actions/ComputerSystem.Reset", {"ResetType": "Explode"}, 400),
        ("POST", f"{HOST}/Actions/ComputerSystem.Reset", {"ResetType": "On", "Extra": 1}, 400),
        ("DELETE", HOST, None, 405),
        ("PUT", HOST, {}, 405),
        ("POST", HOST, {}, 405),
        ("GET", f"{HOST}/Actions/ComputerSystem.Reset", None, 405),
        ("GET", f"{V1}/Nothing", None, 404),
        ("POST", f"{V1}/Nothing", {}, 404),
        ("GET", f"{HOST}/Memory/..", None, 404),
        ("GET", f"{HOST}?$nonsense=1", None, 501),
        ("GET", f"{V1}/Systems?$skip=x", None, 400),
    ],
)
def test_wrong_requests_get_a_redfish_error(tmp_path: Path, method: str, path: str, body: Any, status: int) -> None:
    """Every refusal has its status and an extended error, and changes nothing."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        before = (await client.get(HOST)).body
        reply = await client.ask(method, path, body)
        assert reply.status == status
        assert reply.body["error"]["@Message.ExtendedInfo"][0]["MessageId"].startswith("Base.")
        assert (await client.get(HOST)).body == before

    on_bmc(tmp_path, talk, make_site(profile=SMALL))


def test_etag_guards_a_patch(tmp_path: Path) -> None:
    """A PATCH with an old ETag is refused; with the present one it is done, and the ETag changes."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        etag = (await client.get(HOST)).headers["etag"]
        once = {"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp"}}
        assert (await client.patch(HOST, once, If_Match='"other"')).status == 412
        assert (await client.patch(HOST, once, If_Match=etag)).status == 204
        after = await client.get(HOST)
        assert after.headers["etag"] != etag
        assert after.body["Boot"]["BootSourceOverrideTarget"] == "UefiHttp"
        assert (await client.get(HOST, If_None_Match=after.headers["etag"])).status == 304

    on_bmc(tmp_path, talk)


def test_each_address_is_its_own_bmc(tmp_path: Path) -> None:
    """Thirty BMCs in one process: each address answers with its own server's serial."""
    stored = make_site(30, profile=SMALL)

    async def talk(_: Client, site: SimulatedSite) -> None:
        clients = [Client(node.bmc, USER, PASSWORD) for node in stored.spec.nodes]
        replies = await asyncio.gather(*(client.get(HOST) for client in clients))
        assert [reply.body["SerialNumber"] for reply in replies] == [node.serial for node in stored.spec.nodes]

    on_bmc(tmp_path, talk, stored)


def test_baseboard_matches_the_profile(tmp_path: Path) -> None:
    """An HGX H100 shows 8 GPUs with 18 NVLinks each at 212.496 Gbit/s, and each far end names the GPU port back."""

    async def talk(client: Client, site: SimulatedSite) -> None:
        hgx = f"{V1}/Systems/HGX_Baseboard_0/Processors"
        gpus = (await client.get(hgx)).body["Members"]
        assert len(gpus) == H100.gpus
        ports = (await client.get(f"{gpus[5]['@odata.id']}/Ports?$expand=.")).body["Members"]
        assert len(ports) == 18
        for port in ports:
            assert (port["CurrentSpeedGbps"], port["ActiveWidth"], port["LinkStatus"]) == (212.496, 2, "LinkUp")
            far = (await client.get(port["Links"]["ConnectedSwitchPorts"][0]["@odata.id"])).body
            assert far["Links"]["ConnectedPorts"] == [{"@odata.id": port["@odata.id"]}]

    on_bmc(tmp_path, talk)
