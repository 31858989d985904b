"""A recorded tree served again is a BMC: it takes logins, power and boot orders, and only those; bad files are refused in words."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from metalwright.cli.main import main
from metalwright.codec.scaffold import write_scaffold
from metalwright.drivers.redfish.driver import RedfishBmc
from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.model.errors import InputError
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.ids import NodeName, RackName
from metalwright.model.observation import Kind, PowerSeen
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec
from metalwright.ports import SetBoot, SetPower
from metalwright.simulator.recorded.app import RecordedBmc
from metalwright.simulator.recorded.serve import open_recorded
from metalwright.simulator.recorded.tree import load_tree
from tests.fast.redfish.listening import listening
from tests.fast.redfish.tree_bmc import captures
from tests.fast.simulator.redfish_client import Client
from tests.fast.simulator.simulated_runs import PASSWORD, USER, WallClock
from tests.fast.simulator.simulated_sites import free_port

ACCOUNT = (USER, Secret(PASSWORD))
ROOT = {"RedfishVersion": "1.6.0", "Systems": {"@odata.id": "/redfish/v1/Systems"}, "Id": "RootService"}
HOST = "/redfish/v1/Systems/1"
SMALL = {
    "": ROOT,
    "/Systems": {"Members": [{"@odata.id": HOST}]},
    "/Systems/1": {
        "@odata.id": HOST,
        "@odata.etag": '"1"',
        "SerialNumber": "SN000001",
        "PowerState": "On",
        "Boot": {
            "BootSourceOverrideEnabled": "Disabled",
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Hdd"],
        },
        "Actions": {"#ComputerSystem.Reset": {"target": f"{HOST}/Actions/ComputerSystem.Reset"}},
    },
}


def folder_of(place: Path, documents: dict[str, object] = SMALL, top: str = "any/redfish/v1") -> Path:
    for path, document in documents.items():
        file = place / f"{top}{path}/index.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document))
    return place


def with_driver(source: Path, state: Path, story: Callable[[RedfishBmc, RecordedBmc], Awaitable[None]], serial: str = "") -> None:
    """The tree behind an account over HTTPS, and our driver at it."""
    url = f"https://127.0.0.1:{free_port()}"
    node = NodeSpec(name=NodeName("n1"), rack=RackName("r1"), unit=1, profile="c", serial=serial, bmc=url, boot_mac="02:00:00:00:00:01")

    async def run() -> None:
        async with open_recorded(source, url, state, account=ACCOUNT) as bmc:
            driver = RedfishFactory(lambda _: (Secret(USER), Secret(PASSWORD)), MemoryPins(), WallClock()).open(node)
            try:
                await story(driver, bmc)
            finally:
                await driver.close()
            assert bmc.state.sessions == {}

    asyncio.run(run())


async def seen(driver: RedfishBmc) -> PowerSeen:
    observation = await driver.read(Kind.BMC_POWER)
    assert isinstance(observation.body, PowerSeen), observation
    return observation.body


@pytest.mark.parametrize(("name", "serial"), [("nvidia_gb200", "1333024020524"), ("dell", "F54P1G3"), ("supermicro", "S889914X3710910")])
def test_power_and_boot_of_a_recorded_machine(name: str, serial: str, tmp_path: Path) -> None:
    """Our driver logs in, boots it once from the network, switches it off and on; each shows in a fresh read."""

    async def story(driver: RedfishBmc, _: RecordedBmc) -> None:
        assert (await seen(driver)).identity_serial == serial
        await driver.act(SetBoot(target=BootTarget.NETWORK, once=True, path="pxe"))
        body = await seen(driver)
        assert (body.power, body.boot_target, body.boot_once) == (PowerState.ON, BootTarget.NETWORK, True)
        await driver.act(SetPower(to="off"))
        assert (await seen(driver)).power is PowerState.OFF
        await driver.act(SetPower(to="on"))
        body = await seen(driver)
        assert (body.power, body.boot_target) == (PowerState.ON, BootTarget.NONE), "a start uses up an override that holds once"

    with_driver(captures() / "redfish" / f"{name}.tar.xz", tmp_path, story, serial)


def test_only_power_boot_and_sessions_can_be_changed(tmp_path: Path) -> None:
    """Everything else is refused with a Redfish error, and nothing is shown without a login where there is an account."""
    url = f"http://127.0.0.1:{free_port()}"

    async def run() -> None:
        async with open_recorded(folder_of(tmp_path / "tree"), url, tmp_path, account=ACCOUNT):
            assert (await Client(url).get("/redfish/v1")).status == 200
            assert (await Client(url).get(HOST)).status == 401
            login = {"UserName": USER, "Password": "wrong"}
            assert (await Client(url).post("/redfish/v1/SessionService/Sessions", login)).status == 401
            client = Client(url, USER, PASSWORD)
            reset, boot = f"{HOST}/Actions/ComputerSystem.Reset", {"Boot": {"BootSourceOverrideTarget": "Pxe"}}
            assert (await client.get(f"{HOST}?$expand=.")).status == 501
            assert (await client.get("/redfish/v1/Nothing")).status == 404
            assert (await client.post(reset, {"ResetType": "Explode"})).status == 400
            assert (await client.post("/redfish/v1/UpdateService/upload", {})).status == 405
            assert (await client.patch(HOST, {"AssetTag": "x"})).status == 400
            assert (await client.patch(HOST, {"Boot": {"BootSourceOverrideTarget": "Moon"}})).status == 400
            assert (await client.patch(HOST, boot, **{"If-Match": '"0"'})).status == 412
            assert (await client.patch(HOST, boot, **{"If-Match": '"1"'})).status == 204
            assert (await client.get(HOST)).body["Boot"]["BootSourceOverrideTarget"] == "Pxe"

    asyncio.run(run())


# -- files -----------------------------------------------------------------------------------------------------------------------


def tar_of(place: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(place, "w:gz") as archive:
        for name, body in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return place


def test_folders_tars_zips_and_short_forms_are_one_tree(tmp_path: Path) -> None:
    """However it is packed, and wherever the service root lies in it."""
    folder = folder_of(tmp_path / "folder")
    short = folder_of(tmp_path / "short", top="mockup")
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.json")}
    tar = tar_of(tmp_path / "tree.tar.gz", files)
    packed = tmp_path / "tree.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    trees = [load_tree(source).documents for source in (folder, short, tar, packed)]
    assert trees[0].keys() == {f"/redfish/v1{path}" for path in SMALL}
    assert all(tree == trees[0] for tree in trees)


def test_bad_files_are_bad_input(tmp_path: Path) -> None:
    """Nothing there, no archive, no service root, a cut archive, a document that unpacks to more than any BMC has: words and a hint."""
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("redfish/v1/index.json", json.dumps(ROOT))
        archive.writestr("redfish/v1/Systems/index.json", b" " * (65 * 1024 * 1024))
    (tmp_path / "text").write_text("hello")
    cut = tmp_path / "cut.tar.gz"
    whole = tar_of(tmp_path / "whole.tar.gz", {"redfish/v1/index.json": os.urandom(4000)})
    cut.write_bytes(whole.read_bytes()[:2000])
    (tmp_path / "empty").mkdir()
    up = tar_of(tmp_path / "up.tar.gz", {"../../etc/index.json": b"{}"})
    for source in (tmp_path / "none", bomb, tmp_path / "text", cut, tmp_path / "empty", up):
        with pytest.raises(InputError) as caught:
            load_tree(source)
        assert "node capture" in caught.value.hint, source


# -- the commands ------------------------------------------------------------------------------------------------------------------


def test_served_inspected_and_captured_from_the_command_line(tmp_path: Path) -> None:
    """`simulate serve --capture` says when it is ready, `node inspect` reads it with its account, SIGTERM ends it with 0."""
    url = f"https://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "metalwright.cli.main"]
    account = ["--user", USER, "--password-env", "RECORDED_PASSWORD"]
    environment = {**os.environ, "RECORDED_PASSWORD": PASSWORD}
    serve = [*command, "simulate", "serve", "--capture", str(folder_of(tmp_path / "tree")), "--listen", url, *account]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("ready: 3 documents")
            inspect = [*command, "node", "inspect", url, *account, "--json"]
            done = subprocess.run(inspect, capture_output=True, text=True, env=environment, timeout=30, check=True)
            assert json.loads(done.stdout)["identity"]["system_serial"] == "SN000001"
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0


def test_a_node_of_a_site_is_inspected_and_captured_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Address, account and certificate come from the site; what the archive must not name comes from there too."""
    site, url = tmp_path / "site", f"https://127.0.0.1:{free_port()}"
    write_scaffold(site, "simulated", nodes=2, name="a")
    lines = (site / "nodes.csv").read_text().splitlines()
    column = lines[0].split(",").index("bmc")
    first = lines[1].split(",")
    name, first[column] = first[0], url
    (site / "nodes.csv").write_text("\n".join([lines[0], ",".join(first), *lines[2:]]) + "\n")
    user, password = ((site / "secrets" / f"bmc-{each}").read_text().strip() for each in ("user", "password"))
    tree = folder_of(tmp_path / "tree", {**SMALL, "/Systems": {**SMALL["/Systems"], "Description": f"of {name} at {password}"}})
    account = (user, Secret(password))
    with listening(open_recorded(tree, url, tmp_path / "state", account=account)):
        assert main(["node", "inspect", name, "--site", str(site), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["identity"]["system_serial"] == "SN000001"
        assert main(["node", "capture", name, "--site", str(site), "--output", str(tmp_path / "c.tar.xz")]) == 0
        assert main(["node", "capture", "nobody", "--site", str(site), "--output", str(tmp_path / "d.tar.xz")]) == 3
        assert "its nodes:" in capsys.readouterr().err
    text = b"\n".join(load_tree(tmp_path / "c.tar.xz").documents.values()).decode()
    assert password not in text
    assert "SN000001" not in text
