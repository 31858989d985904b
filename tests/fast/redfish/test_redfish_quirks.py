"""Quirks that need no long story; the numbers are those of docs/redfish-quirks.md, which is itself checked here."""

import asyncio
import re
import ssl
from pathlib import Path
from typing import Any

import orjson
import pytest
from editable_bmc import EditableBmc, link, members
from plain_host import SYSTEM, PlainHost, bmc_of
from tree_bmc import Asked, Reply, TreeBmc, error, recorded

from conftest import ACCOUNT, factory, node
from metalwright.drivers.redfish.documents import text_of
from metalwright.drivers.redfish.limits import Bounds, Deadlines
from metalwright.drivers.redfish.trust import bare_context
from metalwright.model.bmc_actions import InsertMedia
from metalwright.model.hardware import HardwareFacts
from metalwright.model.observation import HardwareSeen, Kind, Observation, PowerSeen
from metalwright.ports import SetPower

HERE = Path(__file__).parent


def read(bmc: TreeBmc, kind: Kind, bounds: Bounds | None = None) -> Observation:
    async def run() -> Observation:
        async with bmc:
            driver = factory(bounds).open(node(bmc.url, "SN-1"))
            try:
                return await driver.read(kind)
            finally:
                await driver.close()

    return asyncio.run(run())


def facts(bmc: TreeBmc) -> HardwareFacts:
    body = read(bmc, Kind.BMC_HARDWARE).body
    assert isinstance(body, HardwareSeen)
    return body.facts


def test_q06_nothing_is_offered_to_be_packed() -> None:
    """No Accept-Encoding: it turns ETags weak on some BMCs."""
    bmc = bmc_of(PlainHost(), account=ACCOUNT)
    read(bmc, Kind.BMC_POWER)
    assert all("accept-encoding" not in asked.headers for asked in bmc.asked)


def test_q07_old_ciphers_are_never_for_all() -> None:
    """TLS 1.2 is the floor; the legacy policy is another context and changes nothing for the usual one."""
    assert bare_context().minimum_version is ssl.TLSVersion.TLSv1_2
    usual = {cipher["name"] for cipher in bare_context().get_ciphers()}
    legacy = {cipher["name"] for cipher in bare_context(legacy=True).get_ciphers()}
    assert "AES256-SHA" in legacy
    assert {cipher["name"] for cipher in bare_context().get_ciphers()} == usual


def test_q09_json_is_sent_bare() -> None:
    """Content-Type without parameters, on the login and on an action."""

    async def run() -> list[Asked]:
        async with bmc_of(PlainHost(), account=ACCOUNT) as bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            await driver.act(SetPower(to="on"))
            await driver.close()
            return bmc.requests("POST")

    posts = asyncio.run(run())
    assert [asked.headers["content-type"] for asked in posts] == ["application/json"] * 2


def test_q11_slow_lists_have_their_own_deadline() -> None:
    """FirmwareInventory may take longer than other resources; the rest of the inventory does not wait as long."""
    inventory = "/redfish/v1/UpdateService/FirmwareInventory"

    async def slow(bmc: TreeBmc, asked: Asked) -> Reply | None:
        if asked.path == "/redfish/v1/UpdateService":
            return 200, {}, orjson.dumps({"FirmwareInventory": link(inventory)})
        if asked.path in (inventory, "/redfish/v1/Chassis"):
            await asyncio.sleep(2.0)
            return 200, {}, orjson.dumps(members())
        return None

    documents = EditableBmc({}).root(UpdateService=link("/redfish/v1/UpdateService"), Chassis=link("/redfish/v1/Chassis")).documents
    bounds = Bounds(deadlines=Deadlines(request_s=1.0, slow_request_s=30.0))
    body = read(TreeBmc(documents, handlers=[slow]), Kind.BMC_HARDWARE, bounds).body
    assert isinstance(body, HardwareSeen)
    assert {gap.what for gap in body.facts.gaps} & {"chassis", "firmware"} == {"chassis"}


def test_q12_a_baseboard_that_is_down_is_unknown_not_absent() -> None:
    """While the host is off, the GPU baseboard answers 503: GPUs, switches and links are gaps with the BMC's words."""

    async def down(bmc: TreeBmc, asked: Asked) -> Reply | None:
        if asked.path.startswith("/redfish/v1/Systems/HGX_Baseboard_0"):
            return error(503, "Ami.1.0.HMCCommuicationFailed", "HMC communication failed")
        return None

    seen = facts(TreeBmc(recorded("nvidia_viking"), handlers=[down]))
    assert seen.gpus == ()
    reasons = {gap.what: gap.why for gap in seen.gaps}
    assert {"gpus", "nvswitches", "nvlinks"} <= set(reasons)
    assert "HMC communication failed" in reasons["gpus"]
    assert len(seen.cpus) == 2, "the rest is read"


def test_q28_power_states_of_every_kind() -> None:
    """Null and words nobody knows are unknown, transitional ones stay transitional."""
    words = {None: "unknown", "PoweringOn": "turning-on", "PoweringOff": "turning-off", "Reset": "turning-on", "Sulking": "unknown"}
    for word, expected in words.items():
        body = read(bmc_of(PlainHost(power=word)), Kind.BMC_POWER).body
        assert isinstance(body, PowerSeen)
        assert body.power.value == expected


def test_q45_a_bmc_that_flaps_after_an_update_is_believed_look_by_look() -> None:
    """Each look stands alone: a failed one is temporary and holds no old body, and the first good one counts again."""
    moods = iter([True, False, True])
    flapping = [False]

    async def flap(bmc: TreeBmc, asked: Asked) -> Reply | None:
        return error(503, "Base.1.8.ServiceTemporarilyUnavailable") if flapping[0] and asked.path == SYSTEM else None

    async def run() -> list[Observation]:
        bmc = bmc_of(PlainHost(power="On"))
        bmc.handlers.insert(0, flap)
        async with bmc:
            driver = factory().open(node(bmc.url, "SN-1"))
            seen = []
            for flapping[0] in moods:
                seen.append(await driver.read(Kind.BMC_POWER))
            await driver.close()
            return seen

    bad, good, bad_again = asyncio.run(run())
    assert isinstance(good.body, PowerSeen)
    assert (bad.body, bad_again.body) == (None, None)
    assert bad.failure and bad_again.failure_class == "error"


def test_q46_impossible_dates_are_only_texts() -> None:
    """LastResetTime is a claim that is compared, never parsed."""
    for date in ("0000-00-00T00:00:00+00:00", "00:00:00Z", "not a date"):
        body = read(EditableBmc({}, {"LastResetTime": date}).listening(), Kind.BMC_POWER).body
        assert isinstance(body, PowerSeen)
        assert body.last_reset_at == date


def test_q47_second_pages_are_read() -> None:
    """A DGX H100 lists 134 PCIe devices on two pages: NICs behind the second are seen with their links."""
    seen = facts(TreeBmc(recorded("nvidia_viking")))
    assert all(nic.pcie is not None for nic in seen.nics)


def test_q48_missing_members_are_an_empty_list() -> None:
    """Members null, absent or short of their count: read as far as they go, counted, and marked where members are missing."""
    chassis = "/redfish/v1/Chassis"
    for document, is_marked in (({"Members": None}, False), ({}, False), ({"Members": [], "Members@odata.count": 3}, True)):
        bmc = EditableBmc({chassis: document}).root(Chassis=link(chassis))
        seen = facts(bmc.listening())
        assert seen.warnings > 0
        assert ("chassis" in {gap.what for gap in seen.gaps}) is is_marked


ZEROS = "00000000-0000-0000-0000-000000000000"
AMI_UUID = "03000200-0400-0500-0006-000700080009"
"""What many AMI boards carry until someone programs them."""


@pytest.mark.parametrize(
    "text", ["N/A", "NA", "", "  ", "Default string", "To be filled by O.E.M.", "00000000", "----", None, ZEROS, AMI_UUID]
)
def test_q52_placeholders_are_no_serial(text: Any) -> None:
    """They are None, so that they never are an identity."""
    assert text_of(text) is None


def test_q52_real_serials_stay() -> None:
    """Padding goes, the rest is kept as it is."""
    assert text_of("MT2242XZ00QA                 ") == "MT2242XZ00QA"
    assert text_of("1662923610124") == "1662923610124"


def test_q53_core_and_thread_processors_are_not_asked_for() -> None:
    """336 SubProcessors of a DGX are neither read nor counted."""
    bmc = TreeBmc(recorded("nvidia_viking"))
    assert len(facts(bmc).cpus) == 2
    assert not [asked for asked in bmc.asked if "SubProcessors" in asked.path]


def test_q54_a_root_without_links_is_walked_by_the_fixed_paths() -> None:
    """Before its first reset a BMC may show a bare root: the paths of the standard lead to the system all the same."""
    bmc = EditableBmc({})
    bmc.documents["/redfish/v1"].pop("Systems")
    assert facts(bmc.listening()).identity.system_serial == "SN-1"


def test_q54_bogus_systems_are_not_the_host() -> None:
    """A member without boot settings, or one that cannot be read, never becomes the host."""
    bmc = EditableBmc({"/redfish/v1/Systems/bogus": {"Id": "bogus", "SerialNumber": "SN-1"}})
    bmc.documents["/redfish/v1/Systems"] = members("/redfish/v1/Systems/gone", "/redfish/v1/Systems/bogus", SYSTEM)
    body = read(bmc.listening(), Kind.BMC_POWER).body
    assert isinstance(body, PowerSeen)
    assert body.power.value == "on"


def test_q59_a_host_without_managed_by_still_finds_its_manager() -> None:
    """Virtual media of the manager are found though the system does not say who manages it."""
    slot = "/redfish/v1/Managers/1/VirtualMedia/1"
    insert = {"#VirtualMedia.InsertMedia": {"target": f"{slot}/Insert"}}
    bmc = EditableBmc(
        {
            "/redfish/v1/Managers": members("/redfish/v1/Managers/1"),
            "/redfish/v1/Managers/1": {"VirtualMedia": link("/redfish/v1/Managers/1/VirtualMedia")},
            "/redfish/v1/Managers/1/VirtualMedia": members(slot),
            slot: {"Id": "1", "MediaTypes": ["CD"], "Inserted": False, "Actions": insert},
        }
    ).root(Managers=link("/redfish/v1/Managers"))
    bmc.posts = {f"{slot}/Insert": lambda asked: (204, {}, b"")}

    async def run() -> None:
        async with bmc.listening() as listening:
            driver = factory().open(node(listening.url, "SN-1"))
            await driver.act(InsertMedia(image_url="http://h/a.iso"))
            await driver.close()

    asyncio.run(run())
    assert len(bmc.posted) == 1


def test_the_table_of_quirks_is_true() -> None:
    """Every number of the table is once in it, and every test it names exists."""
    rows = re.findall(r"^\| (Q\d\d) \|(.*)\|(.*)\|$", (HERE.parents[2] / "docs" / "redfish-quirks.md").read_text(), re.MULTILINE)
    numbers = [number for number, _, _ in rows]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 58
    tests = set(re.findall(r"def (test_\w+)", "".join(path.read_text() for path in HERE.glob("test_*.py"))))
    for number, _, covered in rows:
        named = re.findall(r"`(test_\w+)`", covered)
        assert named or "not staged" in covered or "not built" in covered, number
        assert set(named) <= tests, (number, set(named) - tests)
