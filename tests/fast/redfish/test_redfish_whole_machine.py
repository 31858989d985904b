"""AC cycle, factory reset and log collection: only where the BMC offers them, in its own form, and proven by a fresh look."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from editable_bmc import EditableBmc, link, members
from tree_bmc import Asked, Reply, error

from conftest import factory, node
from metalwright.drivers.redfish.driver import RedfishBmc
from metalwright.model.bmc_actions import AcCycle, BmcSetting, FactoryReset
from metalwright.model.errors import MachineFault
from metalwright.model.observation import HealthSeen, IntegritySeen, Kind, SettingsSeen

BMC = "/redfish/v1/Managers/BMC"
CHASSIS = "/redfish/v1/Chassis/BMC_0"
COLLECT = "#LogService.CollectDiagnosticData"
DUMPS = f"{BMC}/LogServices/Dump"
OEM = f"{CHASSIS}/Actions/Oem/NvidiaChassis.AuxPowerReset"


def machine(manager: dict[str, Any] | None = None, chassis: dict[str, Any] | None = None, **system: Any) -> EditableBmc:
    documents = {
        "/redfish/v1/Managers": members(BMC),
        BMC: {"Id": "BMC", "LastResetTime": "t1", "LogServices": link(f"{BMC}/LogServices"), **(manager or {})},
        f"{BMC}/LogServices": members(DUMPS),
        DUMPS: {
            "Id": "Dump",
            "Entries": link(f"{DUMPS}/Entries"),
            "Actions": {"#LogService.CollectDiagnosticData": {"target": f"{DUMPS}/Go"}},
        },
        f"{DUMPS}/Entries": members(),
        "/redfish/v1/Chassis": members(CHASSIS),
        CHASSIS: {"Id": "BMC_0", **(chassis or {})},
    }
    root = {"Managers": link("/redfish/v1/Managers"), "Chassis": link("/redfish/v1/Chassis")}
    return EditableBmc(documents, {"Links": {"ManagedBy": [link(BMC)]}, **system}).root(**root)


def drive(bmc: EditableBmc, what: Callable[[RedfishBmc], Any], serial: str = "SN-1") -> Any:
    async def run() -> Any:
        async with bmc.listening() as listening:
            driver = factory().open(node(listening.url, serial))
            try:
                return await what(driver)
            finally:
                await driver.close()

    return asyncio.run(run())


def start_of_bmc(bmc: EditableBmc, action: BmcSetting) -> tuple[str | None, str | None]:
    """What the BMC says of its last start before and after the action."""

    async def run(driver: RedfishBmc) -> tuple[str | None, str | None]:
        seen = []
        for act in (None, action):
            if act is not None:
                await driver.act(act)
            body = (await driver.read(Kind.BMC_SETTINGS)).body
            assert isinstance(body, SettingsSeen)
            seen.append(body.bmc_started_at)
        return seen[0], seen[1]

    return drive(bmc, run)  # type: ignore[no-any-return]


def restarts(bmc: EditableBmc) -> Callable[[Asked], Reply]:
    """A BMC that does it: it has another start time afterwards."""

    def take(asked: Asked) -> Reply:
        bmc.documents[BMC]["LastResetTime"] = "t2"
        return 204, {}, b""

    return take


def test_q31_ac_cycle_by_the_standard_is_seen_in_the_bmcs_start() -> None:
    """FullPowerCycle where the system or a chassis lists it, inline or in an ActionInfo; the baseline is the BMC's start time."""
    info = "/redfish/v1/ResetInfo"
    for chassis in (
        {"#Chassis.Reset": {"target": f"{CHASSIS}/Reset", "ResetType@Redfish.AllowableValues": ["On", "FullPowerCycle"]}},
        {"#Chassis.Reset": {"target": f"{CHASSIS}/Reset", "@Redfish.ActionInfo": info}},
    ):
        bmc = machine(chassis={"Actions": chassis})
        bmc.documents[info] = {"Parameters": [{"Name": "ResetType", "AllowableValues": ["FullPowerCycle"]}]}
        bmc.posts = {f"{CHASSIS}/Reset": restarts(bmc)}
        assert start_of_bmc(bmc, AcCycle()) == ("t1", "t2")
        assert [orjson.loads(body) for _, body in bmc.posted] == [{"ResetType": "FullPowerCycle"}]


def test_q31_an_oem_ac_cycle_wants_the_host_off() -> None:
    """GB200: refused while the host runs, and nothing is asked; done when it is off."""
    actions = {"Oem": {"#NvidiaChassis.AuxPowerReset": {"target": OEM}}}
    running = machine(chassis={"Actions": actions})
    running.posts = {OEM: restarts(running)}
    with pytest.raises(MachineFault, match="wants the host off"):
        start_of_bmc(running, AcCycle())
    assert running.posted == []
    off = machine(chassis={"Actions": actions}, PowerState="Off")
    off.posts = {OEM: restarts(off)}
    assert start_of_bmc(off, AcCycle()) == ("t1", "t2")


def test_q31_a_bmc_without_ac_cycle_needs_hands() -> None:
    """A warm power cycle is not taken for one."""
    bmc = machine(chassis={"Actions": {"#Chassis.Reset": {"target": f"{CHASSIS}/R", "ResetType@Redfish.AllowableValues": ["PowerCycle"]}}})
    with pytest.raises(MachineFault, match="no AC cycle"):
        start_of_bmc(bmc, AcCycle())
    assert bmc.posted == []


def defaults(*allowed: str) -> dict[str, Any]:
    return {"Actions": {"#Manager.ResetToDefaults": {"target": f"{BMC}/Defaults", "ResetType@Redfish.AllowableValues": list(allowed)}}}


def test_factory_reset_keeps_access_or_does_nothing() -> None:
    """A BMC that cannot keep network and users is not reset by accident."""
    for action, kind in ((FactoryReset(), "PreserveNetworkAndUsers"), (FactoryReset(keep_access=False), "ResetAll")):
        bmc = machine(defaults("ResetAll", "PreserveNetworkAndUsers"))
        bmc.posts = {f"{BMC}/Defaults": restarts(bmc)}
        assert start_of_bmc(bmc, action) == ("t1", "t2")
        assert [orjson.loads(body) for _, body in bmc.posted] == [{"ResetType": kind}]
    poor = machine(defaults("ResetAll"))
    poor.posts = {f"{BMC}/Defaults": restarts(poor)}
    with pytest.raises(MachineFault, match="cannot do PreserveNetworkAndUsers"):
        start_of_bmc(poor, FactoryReset())
    assert poor.posted == []


@pytest.mark.parametrize("action", [AcCycle(), FactoryReset(keep_access=False)])
def test_another_machine_is_neither_cycled_nor_reset(action: BmcSetting) -> None:
    """The serial is re-read first."""
    bmc = machine(
        defaults("ResetAll"),
        {"Actions": {"#Chassis.Reset": {"target": f"{CHASSIS}/R", "ResetType@Redfish.AllowableValues": ["FullPowerCycle"]}}},
    )
    bmc.posts = {f"{BMC}/Defaults": restarts(bmc), f"{CHASSIS}/R": restarts(bmc)}
    with pytest.raises(MachineFault, match="not SN-2"):
        drive(bmc, lambda driver: driver.act(action), serial="SN-2")
    assert bmc.posted == []


def test_a_log_collection_is_proven_by_a_new_dump() -> None:
    """The task is progress only; the proof is an entry with bytes that was not there before."""
    bmc, task = machine(), "/redfish/v1/TaskService/Tasks/4"

    def collect(asked: Asked) -> Reply:
        entry = f"{DUMPS}/Entries/9"
        bmc.documents[f"{DUMPS}/Entries"] = members(entry)
        bmc.documents[entry] = {"Id": "9", "AdditionalDataURI": f"{entry}/attachment", "AdditionalDataSizeBytes": 4096}
        bmc.documents[task] = {"TaskState": "Completed", "PercentComplete": 100}
        return 202, {"Location": task}, b"{}"

    async def run(driver: RedfishBmc) -> None:
        before = await driver.dumps()
        monitor = await driver.collect_logs()
        assert (await driver.task(monitor)).state == "ended"
        new = set(await driver.dumps()) - set(before)
        assert [(dump.uri, dump.size_bytes) for dump in new] == [(f"{DUMPS}/Entries/9/attachment", 4096)]

    bmc.posts = {f"{DUMPS}/Go": collect}
    drive(bmc, run)
    bmc.posts = {f"{DUMPS}/Go": lambda asked: error(405, "Base.1.8.ActionNotSupported")}
    with pytest.raises(MachineFault, match="log collection"):
        drive(bmc, lambda driver: driver.collect_logs())


def test_logs_of_a_kind_that_is_not_offered() -> None:
    """It says what the BMC does collect."""
    bmc = machine()
    bmc.documents[DUMPS]["Actions"][COLLECT]["DiagnosticDataType@Redfish.AllowableValues"] = ["OS"]
    with pytest.raises(MachineFault, match="no Manager logs") as caught:
        drive(bmc, lambda driver: driver.collect_logs())
    assert "OS" in caught.value.hint


def test_component_integrity_is_read_without_believing_more_than_is_said() -> None:
    """SPDM and TPM parts, with what the last verification said; null and other types are unknown."""
    parts = "/redfish/v1/ComponentIntegrity"
    bmc = machine().root(ComponentIntegrity=link(parts))
    verified = {"IdentityAuthentication": {"ResponderAuthentication": {"VerificationStatus": "Success"}}}
    bmc.documents[parts] = members(f"{parts}/GPU_1", f"{parts}/TPM", f"{parts}/gone")
    bmc.documents[f"{parts}/GPU_1"] = {
        "Id": "GPU_1",
        "ComponentIntegrityType": "SPDM",
        "ComponentIntegrityTypeVersion": "1.1.0",
        "ComponentIntegrityEnabled": True,
        "TargetComponentURI": "/redfish/v1/Chassis/GPU_1",
        "SPDM": verified,
    }
    bmc.documents[f"{parts}/TPM"] = {"Id": "TPM", "ComponentIntegrityType": "TPM", "ComponentIntegrityEnabled": "yes", "SPDM": None}
    seen = drive(bmc, lambda driver: driver.read(Kind.BMC_HEALTH))
    assert isinstance(seen.body, HealthSeen)
    assert seen.body.integrity == (
        IntegritySeen(name="GPU_1", protocol="SPDM", version="1.1.0", part="GPU_1", is_enabled=True, verification="Success"),
        IntegritySeen(name="TPM", protocol="TPM", version=None, part=None, is_enabled=None, verification=None),
    )
    assert "integrity/gone" in {gap.what for gap in seen.gaps}
