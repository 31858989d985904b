"""Power and boot override: asked for in the words of each BMC, never on the wrong machine, never twice."""

import asyncio
from typing import Any, Literal

import pytest
from plain_host import SYSTEM, PlainHost, bmc_of
from tree_bmc import Asked, Reply, TreeBmc, error

from conftest import ACCOUNT, factory, node
from metalwright.model.errors import MachineFault, TemporaryError
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.observation import Kind, PowerSeen
from metalwright.ports import BmcAction, SetBoot, SetPower

NETWORK_ONCE = SetBoot(target=BootTarget.NETWORK, once=True)


def act(host: PlainHost, *actions: BmcAction, serial: str = "SN-1", bmc: TreeBmc | None = None) -> PowerSeen:
    """Perform the actions and return a fresh look."""

    async def run() -> PowerSeen:
        async with bmc or bmc_of(host, account=ACCOUNT) as listening:
            driver = factory().open(node(listening.url, serial))
            try:
                for action in actions:
                    await driver.act(action)
                seen = (await driver.read(Kind.BMC_POWER)).body
                assert isinstance(seen, PowerSeen)
                return seen
            finally:
                await driver.close()
                assert not listening.sessions

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("before", "to", "resets", "after"),
    [
        ("Off", "on", ["On"], PowerState.ON),
        ("On", "on", [], PowerState.ON),
        ("PoweringOn", "on", [], PowerState.TURNING_ON),
        ("On", "off", ["ForceOff"], PowerState.OFF),
        ("Off", "off", [], PowerState.OFF),
        ("On", "shutdown", ["GracefulShutdown"], PowerState.OFF),
        ("On", "reset", ["ForceRestart"], PowerState.ON),
        ("Off", "reset", ["On"], PowerState.ON),
        (None, "on", ["On"], PowerState.ON),
    ],
)
def test_power_words(before: str, to: Literal["on", "off", "shutdown", "reset"], resets: list[str], after: PowerState) -> None:
    """Level changes act only when they are not reached; a reset of a machine that is off turns it on."""
    host = PlainHost(power=before)
    assert act(host, SetPower(to=to)).power is after
    assert host.resets == resets


def test_another_machine_is_never_touched() -> None:
    """A BMC that shows another serial, or none, gets no write."""
    for serial in ("SN-2", "", "To be filled by O.E.M."):
        host = PlainHost(serial=serial, power="On")
        with pytest.raises(MachineFault, match="SN-1"):
            act(host, SetPower(to="off"), NETWORK_ONCE)
        assert (host.resets, host.patches) == ([], [])


def test_a_uuid_counts_only_where_there_is_no_serial() -> None:
    """A BMC without a serial is known by the spec's UUID; one with another serial is never, whatever its UUID says."""

    async def run(serial: str, uuid: str) -> list[str]:
        host = PlainHost(serial=serial)
        async with bmc_of(host) as bmc:
            driver = factory().open(node(bmc.url, "SN-1", uuid=uuid))
            try:
                await driver.act(SetPower(to="on"))
            except MachineFault:
                pass
            finally:
                await driver.close()
            return host.resets

    uuid = "b11dd4f2-bfde-1000-02bc-5cff35fbe6e9"
    assert asyncio.run(run("N/A", uuid)) == ["On"]
    assert asyncio.run(run("N/A", uuid.replace("b", "c"))) == []
    assert asyncio.run(run("SN-2", uuid)) == []


def test_serials_compare_without_case_and_padding() -> None:
    """A padded serial in other case is the same machine (Q52)."""
    host = PlainHost(serial="sn-1   ")
    act(host, SetPower(to="on"))
    assert host.resets == ["On"]


def test_reset_types_come_from_the_action_info() -> None:
    """AllowableValues that are not inline are found through ActionInfo (Q30)."""
    host = PlainHost(power="On", allowed=["On", "ForceOff", "PowerCycle"], in_action_info=True)
    act(host, SetPower(to="reset"))
    assert host.resets == ["PowerCycle"]


def test_reset_without_a_restart_goes_off_and_on() -> None:
    """Where no kind of restart is allowed, the machine is forced off, seen off, and turned on (Q29)."""
    host = PlainHost(power="On", allowed=["On", "ForceOff"])
    assert act(host, SetPower(to="reset")).power is PowerState.ON
    assert host.resets == ["ForceOff", "On"]


def test_a_power_change_nobody_offers_needs_a_person() -> None:
    """A BMC that lists no way to do it is a fault with its list, not a guess."""
    with pytest.raises(MachineFault, match="Nmi"):
        act(PlainHost(power="On", allowed=["Nmi"]), SetPower(to="off"))


def test_conflict_when_reached_is_success() -> None:
    """On when already on: 409 from Dell, 400 from HPE. The state decides (Q26)."""
    for status in (409, 400):
        host = PlainHost(power="Off")

        async def turned_on_meanwhile(bmc: TreeBmc, asked: Asked, host: PlainHost = host, status: int = status) -> Reply | None:
            if asked.method == "POST" and asked.path.endswith("Reset"):
                host.power = "On"
                return error(status, "IDRAC.2.8.PSU501")
            return None

        bmc = TreeBmc(tree={}, handlers=[turned_on_meanwhile, host.handle], account=ACCOUNT)
        assert act(host, SetPower(to="on"), bmc=bmc).power is PowerState.ON


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(409, "IDRAC.2.8.PSU501"), TemporaryError),
        (error(503, "Base.1.8.ServiceTemporarilyUnavailable"), TemporaryError),
        (error(400, "iLO.2.14.InvalidOperationForSystemState"), TemporaryError),
        (error(400, "iLO.2.25.UnableToModifyDuringSystemPOST"), TemporaryError),
        (error(404, "Base.1.8.ResourceInStandby"), TemporaryError),
        (error(400, "Base.1.8.ActionParameterNotSupported"), MachineFault),
        (error(405, "Base.1.8.ActionNotSupported"), MachineFault),
        (error(403, "Base.1.8.InsufficientPrivilege"), MachineFault),
    ],
)
def test_refusals_are_sorted_by_who_acts(reply: Reply, expected: type[Exception]) -> None:
    """Not now goes to the loop, never goes to a person, and neither carries a secret (Q13, Q27)."""
    with pytest.raises(expected) as caught:
        act(PlainHost(power="Off", refuse_reset=reply), SetPower(to="on"))
    assert ACCOUNT[1] not in str(caught.value)


def test_a_lying_bmc_is_seen_through() -> None:
    """A BMC that accepts and does nothing shows itself at the fresh look (Q32)."""
    assert act(PlainHost(power="Off", lies=True), SetPower(to="on")).power is PowerState.OFF


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (NETWORK_ONCE, ("UefiHttp", "Once", "UEFI")),
        (SetBoot(target=BootTarget.NETWORK, once=True, path="uefi-pxe"), ("Pxe", "Once", "UEFI")),
        (SetBoot(target=BootTarget.NETWORK, once=True, path="bios-pxe"), ("Pxe", "Once", "Legacy")),
        (SetBoot(target=BootTarget.DISK, once=False), ("Hdd", "Continuous", "UEFI")),
    ],
)
def test_boot_override_is_sent_whole(action: SetBoot, expected: tuple[str, str, str]) -> None:
    """Target, enabled and mode go together, since some BMCs reset what is not echoed (Q33); asked twice it is sent once."""
    host = PlainHost()
    seen = act(host, action, action)
    names = ("BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode")
    assert [tuple(body["Boot"][name] for name in names) for _, body, _ in host.patches] == [expected]
    assert (seen.boot_target, seen.boot_once) == (action.target, action.once)


def test_boot_override_can_be_cleared() -> None:
    """NONE disables the override."""
    host = PlainHost()
    seen = act(host, NETWORK_ONCE, SetBoot(target=BootTarget.NONE, once=False))
    assert (seen.boot_target, seen.boot_once) == (BootTarget.NONE, False)


def test_minimal_form_after_a_refusal() -> None:
    """A BMC that refuses the mode gets the override without it (Q33)."""
    host = PlainHost()

    async def refuse_mode(bmc: TreeBmc, asked: Asked) -> Reply | None:
        if asked.method == "PATCH" and "BootSourceOverrideMode" in asked.json()["Boot"]:
            return error(400, "Base.1.8.PropertyNotWritable")
        return None

    bmc = TreeBmc(tree={}, handlers=[refuse_mode, host.handle], account=ACCOUNT)
    assert act(host, NETWORK_ONCE, bmc=bmc).boot_target is BootTarget.NETWORK
    assert [sorted(body["Boot"]) for _, body, _ in host.patches] == [["BootSourceOverrideEnabled", "BootSourceOverrideTarget"]]


def test_a_boot_path_the_bmc_lacks_needs_a_person() -> None:
    """UEFI HTTP on a BMC without it is a fault that says what to set instead (Q35)."""
    host = PlainHost()
    host.boot["BootSourceOverrideTarget@Redfish.AllowableValues"] = ["None", "Pxe", "Hdd"]
    with pytest.raises(MachineFault) as caught:
        act(host, NETWORK_ONCE)
    assert "uefi-pxe" in caught.value.hint
    assert host.patches == []


class WithSettings:
    """A host whose override lives in a settings object (AMI), or whose settings object must not be written."""

    path = f"{SYSTEM}/SD"

    def __init__(self, host: PlainHost, boot: dict[str, Any], writable: bool = True) -> None:
        self.host, self.boot, self.writable = host, boot, writable

    async def handle(self, bmc: TreeBmc, asked: Asked) -> Reply | None:
        if asked.path == self.path and asked.method == "GET":
            return await TreeBmc(tree={self.path: {"Boot": self.boot}}).answer(asked)
        if asked.path == self.path and asked.method == "PATCH":
            if not self.writable:
                return error(400, "Base.1.8.PropertyNotWritable")
            self.boot.update(asked.json()["Boot"])
            return 204, {}, b""
        if asked.path == SYSTEM and asked.method == "GET":
            system = {**self.host.tree()[SYSTEM], "@Redfish.Settings": {"SettingsObject": {"@odata.id": self.path}}}
            return await TreeBmc(tree={SYSTEM: system}).answer(asked)
        return None


def test_override_goes_to_the_settings_object_only_where_it_lives() -> None:
    """The settings object is written if it holds the property (Q20, Q19: its path is only ever followed), else the system."""
    for boot, patched_system in (({"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}, 0), ({}, 1)):
        host = PlainHost()
        settings = WithSettings(host, dict(boot))
        bmc = TreeBmc(tree={}, handlers=[settings.handle, host.handle])
        assert act(host, NETWORK_ONCE, bmc=bmc).boot_target is BootTarget.NETWORK
        assert len(host.patches) == patched_system


def test_override_goes_to_the_system_when_the_settings_object_refuses() -> None:
    """A settings object that shows the property and refuses it is left for the system (Q20)."""
    host = PlainHost()
    settings = WithSettings(host, {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}, writable=False)
    bmc = TreeBmc(tree={}, handlers=[settings.handle, host.handle])
    assert act(host, NETWORK_ONCE, bmc=bmc).boot_target is BootTarget.NETWORK
    assert len(host.patches) == 1


@pytest.mark.parametrize(
    ("etag", "accepted"),
    [('"7"', '"7"'), ('W/"7"', 'W/"7"'), ('W/"7"', '"7"'), ('"7"', "*"), ('"7"', None), ("", None), ("", "*")],
)
def test_etag_ladder_finds_the_form_the_bmc_takes(etag: str, accepted: str | None) -> None:
    """Header form, strong form, `*` or none: the one that works is found, and used first the next time (Q15, Q16)."""
    host = PlainHost(etag=etag)

    async def picky(bmc: TreeBmc, asked: Asked) -> Reply | None:
        if asked.method == "PATCH" and asked.headers.get("if-match") != accepted:
            return error(412 if "if-match" in asked.headers else 428, "Base.1.8.PreconditionFailed")
        return None

    bmc = TreeBmc(tree={}, handlers=[picky, host.handle])
    act(host, NETWORK_ONCE, SetBoot(target=BootTarget.DISK, once=True), bmc=bmc)
    assert [match for _, _, match in host.patches] == [accepted, accepted]
    refused = len([asked for asked in bmc.requests("PATCH")]) - 2
    assert refused <= 4
