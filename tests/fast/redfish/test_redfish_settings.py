"""Settings: BIOS, boot order, virtual media, power limits, erase, passwords. Each is written once, where it lives, and read back."""

import asyncio
from typing import Any

import orjson
import pytest
from editable_bmc import EditableBmc, link, members
from plain_host import SYSTEM
from tree_bmc import Asked, Reply, error, recorded

from conftest import factory, node
from metalwright.model.bmc_actions import (
    BmcSetting,
    ChangePassword,
    EjectMedia,
    EraseDrive,
    InsertMedia,
    SetBios,
    SetBootOrder,
    SetPowerLimit,
)
from metalwright.model.errors import MachineFault, TemporaryError
from metalwright.model.hardware import BootTarget
from metalwright.model.observation import Kind, PowerLimit, SettingsSeen
from metalwright.model.secret import Secret
from metalwright.ports import SetBoot


def act(bmc: EditableBmc, *actions: BmcSetting | SetBoot, serial: str = "SN-1") -> SettingsSeen:
    """Perform the actions, then look."""

    async def run() -> SettingsSeen:
        async with bmc.listening() as listening:
            driver = factory().open(node(listening.url, serial))
            try:
                for action in actions:
                    await driver.act(action)
                seen = await driver.read(Kind.BMC_SETTINGS)
                assert isinstance(seen.body, SettingsSeen), seen.failure
                return seen.body
            finally:
                await driver.close()

    return asyncio.run(run())


BIOS = f"{SYSTEM}/Bios"
REGISTRY = "/redfish/v1/Registries/Attributes"


def bios_bmc(*, apply_times: list[str] | None = None, registry: bool = True) -> EditableBmc:
    settings: dict[str, Any] = {"SettingsObject": link(f"{BIOS}/Pending")}
    if apply_times is not None:
        settings["SupportedApplyTimes"] = apply_times
    attributes = {"SriovEnable": "Disabled", "NumaPerSocket": 1, "Above4G": True, "Vendor": "x"}
    entries = [
        {"AttributeName": "SriovEnable", "Type": "Enumeration", "Value": [{"ValueName": "Enabled"}, {"ValueName": "Disabled"}]},
        {"AttributeName": "NumaPerSocket", "Type": "Integer", "LowerBound": 1, "UpperBound": 4},
        {"AttributeName": "Above4G", "Type": "Boolean"},
        {"AttributeName": "Vendor", "Type": "String", "ReadOnly": True},
    ]
    bmc = EditableBmc(
        {
            BIOS: {"Attributes": attributes, "AttributeRegistry": "BiosAttributeRegistry.v1_0_3", "@Redfish.Settings": settings},
            f"{BIOS}/Pending": {"Attributes": dict(attributes)},
            "/redfish/v1/Registries": members(REGISTRY),
            REGISTRY: {"Id": "BiosAttributeRegistry.v1_0_0", "Location": [{"Language": "en-US", "Uri": "/bios.json"}]},
            "/bios.json": {"RegistryEntries": {"Attributes": entries}},
        },
        {"Bios": link(BIOS)},
    )
    bmc.documents["/redfish/v1/Registries/BiosAttributeRegistry"] = bmc.documents.pop(REGISTRY)
    bmc.documents["/redfish/v1/Registries"] = members("/redfish/v1/Registries/BiosAttributeRegistry")
    return bmc.root(Registries=link("/redfish/v1/Registries")) if registry else bmc


def test_bios_is_written_once_with_its_types_and_only_what_differs() -> None:
    """Texts of the spec become the registry's types; one PATCH to the settings object holds the differences (Q19, Q24, Q25)."""
    bmc = bios_bmc()
    wanted = SetBios(attributes={"SriovEnable": "Enabled", "NumaPerSocket": "2", "Above4G": "true"})
    seen = act(bmc, wanted, wanted)
    assert bmc.patched == [(f"{BIOS}/Pending", {"Attributes": {"SriovEnable": "Enabled", "NumaPerSocket": 2}})]
    assert seen.bios["SriovEnable"] == "Disabled"
    assert seen.bios_pending == {"SriovEnable": "Enabled", "NumaPerSocket": "2"}


def test_apply_time_is_sent_where_it_is_known() -> None:
    """A BMC that lists OnReset is told so; without it Dell accepts and never applies (Q21)."""
    bmc = bios_bmc(apply_times=["OnReset", "AtMaintenanceWindowStart"])
    act(bmc, SetBios(attributes={"SriovEnable": "Enabled"}))
    assert bmc.patched[0][1]["@Redfish.SettingsApplyTime"] == {"ApplyTime": "OnReset"}


def test_every_wrong_attribute_is_named_before_anything_is_written() -> None:
    """One unknown name would make the BMC refuse all, so nothing is sent (Q24)."""
    bmc = bios_bmc()
    wrong = {"Sriov": "Enabled", "SriovEnable": "Maybe", "NumaPerSocket": "9", "Above4G": "perhaps", "Vendor": "y"}
    with pytest.raises(MachineFault) as caught:
        act(bmc, SetBios(attributes=wrong))
    for name in wrong:
        assert f"{name}:" in caught.value.message
    assert bmc.patched == []


def test_without_a_registry_present_attributes_are_the_registry() -> None:
    """A BMC whose registry cannot be read still takes attributes it shows, in the type they have."""
    bmc = bios_bmc(registry=False)
    act(bmc, SetBios(attributes={"NumaPerSocket": "4"}))
    assert bmc.patched == [(f"{BIOS}/Pending", {"Attributes": {"NumaPerSocket": 4}})]
    with pytest.raises(MachineFault, match="Nonsense: unknown"):
        act(bmc, SetBios(attributes={"Nonsense": "1"}))


def test_a_committed_bios_job_is_waited_for() -> None:
    """iDRAC refuses a second change while one waits for the reboot: that is waiting, not a fault (Q22)."""
    bmc = bios_bmc()
    bmc.refuse = lambda asked: error(400, "IDRAC.2.8.SYS011", "Pending configuration values are already committed, unable to set")
    with pytest.raises(TemporaryError, match="reboot"):
        act(bmc, SetBios(attributes={"SriovEnable": "Enabled"}))


def test_an_open_bios_job_makes_present_values_doubtful() -> None:
    """While a BIOS job is scheduled, what /Bios shows is a wish (Q23)."""
    for state, is_open in (("Scheduled", True), ("New", True), ("Completed", False)):
        bmc = bios_bmc().root(Tasks=link("/redfish/v1/TaskService"))
        bmc.documents["/redfish/v1/TaskService"] = {"Tasks": link("/redfish/v1/TaskService/Tasks")}
        bmc.documents["/redfish/v1/TaskService/Tasks"] = members("/redfish/v1/TaskService/Tasks/1")
        bmc.documents["/redfish/v1/TaskService/Tasks/1"] = {"Name": "Configure: BIOS.Setup.1-1", "TaskState": state}
        assert act(bmc).is_apply_pending is is_open


@pytest.mark.parametrize(
    ("tree", "attribute", "right", "wrong"),
    [
        ("nvidia_viking", "ARIEnable", "Disable", "Sometimes"),
        ("nvidia_gb200", "ActiveCores", "72", "many"),
    ],
)
def test_real_registries_are_found(tree: str, attribute: str, right: str, wrong: str) -> None:
    """On recorded machines the registry behind the BIOS is found, whatever its name and place, and judges values."""
    documents = {path: orjson.loads(body) for path, body in recorded(tree).items() if "/JsonSchemas" not in path}
    bmc = EditableBmc({})
    bmc.documents = documents
    serial = {"nvidia_viking": "1662923610124", "nvidia_gb200": "1333024020524"}[tree]
    with pytest.raises(MachineFault, match=f"{attribute}: '{wrong}'"):
        act(bmc, SetBios(attributes={attribute: wrong}), serial=serial)
    act(bmc, SetBios(attributes={attribute: right}), serial=serial)
    assert [list(body["Attributes"]) for _, body in bmc.patched] == [[attribute]]


def test_boot_order_keeps_what_was_not_named_and_the_bmcs_own_spelling() -> None:
    """Named entries go first, composite entries are written back whole (Q38), an unknown entry changes nothing."""
    order = ["Boot0001", "Boot0019: Ubuntu", "Boot0003"]
    bmc = EditableBmc({}, {"Boot": {"BootOrder": order, "BootSourceOverrideTarget": "None"}})
    seen = act(bmc, SetBootOrder(entries=("Boot0019",)), SetBootOrder(entries=("Boot0019",)))
    assert seen.boot_order == ("Boot0019: Ubuntu", "Boot0001", "Boot0003")
    assert len(bmc.patched) == 1
    with pytest.raises(MachineFault, match="Boot0042"):
        act(bmc, SetBootOrder(entries=("Boot0042",)))


def test_http_boot_uri_goes_with_the_override_or_needs_a_person() -> None:
    """UEFI HTTP with a URI sets both; a BMC without HttpBootUri is told apart before anything is written (Q35)."""
    action = SetBoot(target=BootTarget.NETWORK, once=True, http_uri="http://10.0.0.1/boot.efi")
    boot = {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled", "HttpBootUri": None}
    bmc = EditableBmc({}, {"Boot": boot})
    assert act(bmc, action).http_boot_uri == "http://10.0.0.1/boot.efi"
    bare = EditableBmc({}, {"Boot": {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}})
    with pytest.raises(MachineFault, match="HttpBootUri"):
        act(bare, action)
    assert bare.patched == []


MEDIA = f"{SYSTEM}/VirtualMedia"


def media_bmc(**slot: Any) -> EditableBmc:
    actions = {f"#VirtualMedia.{verb}Media": {"target": f"{MEDIA}/1/{verb}"} for verb in ("Insert", "Eject")}
    floppy = {"Id": "0", "MediaTypes": ["Floppy"], "Inserted": False, "Actions": actions}
    disc = {"Id": "1", "MediaTypes": ["CD", "DVD"], "Inserted": False, "Image": None, "Actions": actions, **slot}
    documents = {MEDIA: members(f"{MEDIA}/0", f"{MEDIA}/1"), f"{MEDIA}/0": floppy, f"{MEDIA}/1": disc}
    bmc = EditableBmc(documents, {"VirtualMedia": link(MEDIA)})

    def insert(asked: Asked) -> Reply:
        bmc.documents[f"{MEDIA}/1"].update(Image=asked.json()["Image"], Inserted=True)
        return 204, {}, b""

    def eject(asked: Asked) -> Reply:
        assert asked.json() == {}
        bmc.documents[f"{MEDIA}/1"].update(Image=None)  # Inserted stays true: the stale flag of some BMCs
        return 204, {}, b""

    bmc.posts = {f"{MEDIA}/1/Insert": insert, f"{MEDIA}/1/Eject": eject}
    return bmc


def test_virtual_cd_in_and_out() -> None:
    """The CD slot is chosen, another image is ejected first, the same is left alone; a stale Inserted flag is no CD (Q36, Q60)."""
    bmc = media_bmc(Image="http://h/old.iso", Inserted=True)
    new = InsertMedia(image_url="http://h/new.iso")
    (slot,) = act(bmc, new, new).media
    assert (slot.name, slot.image, slot.is_inserted) == ("1", "http://h/new.iso", True)
    assert [path.rpartition("/")[2] for path, _ in bmc.posted] == ["Eject", "Insert"]
    (slot,) = act(bmc, EjectMedia()).media
    assert not slot.is_inserted


@pytest.mark.parametrize("required", ["WriteProtected", "TransferProtocolType"])
def test_media_payload_is_found(required: str) -> None:
    """BMCs that want more fields than the image get them at the next try (Q60)."""
    bmc = media_bmc()
    insert = bmc.posts[f"{MEDIA}/1/Insert"]
    bmc.posts[f"{MEDIA}/1/Insert"] = lambda asked: insert(asked) if required in asked.json() else error(400, "Base.1.8.Missing")
    (slot,) = act(bmc, InsertMedia(image_url="https://h/new.iso")).media
    assert slot.is_inserted


def test_a_slot_without_the_action_is_patched() -> None:
    """Lenovo SD530 has no InsertMedia action: the slot itself is written (Q60)."""
    bmc = media_bmc(Actions={})
    (slot,) = act(bmc, InsertMedia(image_url="http://h/new.iso")).media
    assert slot.is_inserted
    assert bmc.patched[0][0] == f"{MEDIA}/1"


def test_no_virtual_cd_needs_a_person() -> None:
    """A BMC without a CD slot says so."""
    with pytest.raises(MachineFault, match="virtual CD"):
        act(EditableBmc({}), InsertMedia(image_url="http://h/new.iso"))


def gpu_bmc() -> EditableBmc:
    gpu = f"{SYSTEM}/Processors/GPU_3"
    limit = {"SetPoint": 700, "AllowableMin": 200, "AllowableMax": 700, "Reading": 71.2}
    return EditableBmc(
        {
            f"{SYSTEM}/Processors": members(gpu),
            gpu: {"Id": "GPU_3", "ProcessorType": "GPU", "EnvironmentMetrics": link(f"{gpu}/EnvironmentMetrics")},
            f"{gpu}/EnvironmentMetrics": {"PowerLimitWatts": limit},
        },
        {"Processors": link(f"{SYSTEM}/Processors")},
    )


def test_gpu_power_limit_within_its_range() -> None:
    """A GPU's limit is set once and read back; out of range, or no such GPU, writes nothing."""
    bmc = gpu_bmc()
    action = SetPowerLimit(part="gpu:3", watts=500)
    assert act(bmc, action, action).power_limits == (PowerLimit(part="gpu:3", watts=500, min_watts=200, max_watts=700),)
    assert len(bmc.patched) == 1
    for wrong in (SetPowerLimit(part="gpu:3", watts=100), SetPowerLimit(part="gpu:3", watts=900), SetPowerLimit(part="gpu:9", watts=500)):
        with pytest.raises(MachineFault):
            act(bmc, wrong)
    assert len(bmc.patched) == 1


CHASSIS = "/redfish/v1/Chassis/1"


@pytest.mark.parametrize(
    ("chassis", "documents", "body"),
    [
        (
            {"EnvironmentMetrics": link(f"{CHASSIS}/Env")},
            {f"{CHASSIS}/Env": {"PowerLimitWatts": {"SetPoint": 6000, "AllowableMax": 9000}}},
            {"PowerLimitWatts": {"SetPoint": 5000}},
        ),
        (
            {"Controls": link(f"{CHASSIS}/Controls")},
            {
                f"{CHASSIS}/Controls": members(f"{CHASSIS}/Controls/p"),
                f"{CHASSIS}/Controls/p": {"ControlType": "Power", "SetPoint": 6000, "SettingMax": 9000, "PhysicalContext": "Chassis"},
            },
            {"SetPoint": 5000},
        ),
        (
            {"Power": link(f"{CHASSIS}/Power")},
            {f"{CHASSIS}/Power": {"PowerControl": [{"PowerLimit": {"LimitInWatts": 6000}, "PowerCapacityWatts": 9000}]}},
            {"PowerControl": [{"PowerLimit": {"LimitInWatts": 5000}}]},
        ),
    ],
)
def test_system_power_limit_in_its_three_places(chassis: dict[str, Any], documents: dict[str, Any], body: dict[str, Any]) -> None:
    """EnvironmentMetrics, Controls, or the old PowerControl: the one that is there is used (Q63)."""
    bmc = EditableBmc({CHASSIS: chassis, **documents}, {"Links": {"Chassis": [link(CHASSIS)]}})
    seen = act(bmc, SetPowerLimit(part="system", watts=5000))
    assert [limit.watts for limit in seen.power_limits] == [5000]
    assert [sent for _, sent in bmc.patched] == [body]


STORAGE = f"{SYSTEM}/Storage"


def drive_bmc(serials: list[str], methods: list[str] | None) -> EditableBmc:
    paths = [f"{STORAGE}/1/Drives/{number}" for number in range(len(serials))]
    documents: dict[str, Any] = {STORAGE: members(f"{STORAGE}/1"), f"{STORAGE}/1": {"Drives": [link(path) for path in paths]}}
    for path, serial in zip(paths, serials, strict=True):
        action = {"target": f"{path}/Erase", "@Redfish.ActionInfo": f"{path}/EraseInfo"}
        documents[path] = {"SerialNumber": serial, "Actions": {"#Drive.SecureErase": action}}
        if methods is not None:
            documents[f"{path}/EraseInfo"] = {"Parameters": [{"Name": "SanitizationType", "AllowableValues": methods}]}
    bmc = EditableBmc(documents, {"Storage": link(STORAGE)})
    bmc.posts = {f"{path}/Erase": lambda asked: (204, {}, b"") for path in paths}
    return bmc


def test_only_the_named_drive_is_erased() -> None:
    """By its serial, exactly once; none, or two with the same, and nothing is erased."""
    bmc = drive_bmc(["D1", "D2 "], ["BlockErase", "CryptographicErase"])
    act(bmc, EraseDrive(serial="d2"))
    assert [(path[-7:], orjson.loads(body)) for path, body in bmc.posted] == [("1/Erase", {"SanitizationType": "CryptographicErase"})]
    for serials in (["D1"], ["D2", "D2"], ["", "N/A"]):
        other = drive_bmc(serials, ["BlockErase"])
        with pytest.raises(MachineFault, match="nothing was erased"):
            act(other, EraseDrive(serial="D2"))
        assert other.posted == []
    with pytest.raises(MachineFault):
        act(drive_bmc([""], ["BlockErase"]), EraseDrive(serial=""))


def test_erase_falls_back_by_the_order_of_the_spec() -> None:
    """A drive that refuses crypto erase gets the next method that the spec allows, and no other (Q62)."""
    bmc = drive_bmc(["D1"], None)
    erase = f"{STORAGE}/1/Drives/0/Erase"
    bmc.posts[erase] = lambda asked: (204, {}, b"") if b"Block" in asked.body else error(400, "Base.1.8.ActionParameterNotSupported")
    act(bmc, EraseDrive(serial="D1", methods=("CryptographicErase", "BlockErase")))
    assert [orjson.loads(body)["SanitizationType"] for _, body in bmc.posted] == ["CryptographicErase", "BlockErase"]
    with pytest.raises(MachineFault, match="none of"):
        act(drive_bmc(["D1"], ["Overwrite"]), EraseDrive(serial="D1", methods=("CryptographicErase",)))


def test_password_of_the_right_account() -> None:
    """The account with the name is changed in place (Q64); refusals never repeat the password."""
    accounts = "/redfish/v1/AccountService/Accounts"
    documents = {
        "/redfish/v1/AccountService": {"Accounts": link(accounts)},
        accounts: members(f"{accounts}/1", f"{accounts}/2"),
        f"{accounts}/1": {"UserName": ""},
        f"{accounts}/2": {"UserName": "operator"},
    }
    bmc = EditableBmc(documents).root(AccountService=link("/redfish/v1/AccountService"))
    act(bmc, ChangePassword(user="operator", password=Secret("new-Secret-1")))
    assert bmc.patched == [(f"{accounts}/2", {"Password": "new-Secret-1"})]
    bmc.refuse = lambda asked: error(400, "Base.1.8.PropertyValueError", f"bad value {asked.body.decode()}")
    with pytest.raises(MachineFault) as caught:
        act(bmc, ChangePassword(user="operator", password=Secret("new-Secret-2")))
    assert "new-Secret-2" not in str(caught.value)
    with pytest.raises(MachineFault, match="0 accounts"):
        act(bmc, ChangePassword(user="nobody", password=Secret("x")))


def test_another_machine_is_never_set() -> None:
    """Settings begin with the serial, like power."""
    bmc = bios_bmc()
    with pytest.raises(MachineFault, match="SN-9"):
        act(bmc, SetBios(attributes={"SriovEnable": "Enabled"}), serial="SN-9")
    assert bmc.patched == []
