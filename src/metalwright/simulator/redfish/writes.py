"""What a client may change on the machine: power and boot override; and the table of all writes."""

from collections.abc import Awaitable, Callable
from typing import Literal
from urllib.parse import unquote

from metalwright.model.hardware import BootTarget, PowerState
from metalwright.simulator.redfish import client_records, services, systems
from metalwright.simulator.redfish.answers import Answer, refuse
from metalwright.simulator.redfish.client_records import Body, text_of
from metalwright.simulator.redfish.documents import BMC, HOST, ROOT, Document
from metalwright.simulator.redfish.face import Desk
from metalwright.simulator.redfish.managers import MANAGER_RESETS

PowerWord = Literal["on", "off", "shutdown", "reset"]

_POWER: dict[str, PowerWord] = {
    "On": "on",
    "ForceOn": "on",
    "ForceOff": "off",
    "GracefulShutdown": "shutdown",
    "ForceRestart": "reset",
    "GracefulRestart": "reset",
    "PowerCycle": "reset",
}
_TARGETS = {
    "None": BootTarget.NONE,
    "Pxe": BootTarget.NETWORK,
    "UefiHttp": BootTarget.NETWORK,
    "Hdd": BootTarget.DISK,
    "Cd": BootTarget.OTHER,
    "Usb": BootTarget.OTHER,
    "BiosSetup": BootTarget.OTHER,
    "Diags": BootTarget.OTHER,
}


async def reset_system(desk: Desk, body: Body) -> Answer:
    """ComputerSystem.Reset. The power-lies fault answers success and does nothing (seen on iDRAC 5.10: Q32 of the quirk list)."""
    kind = _reset_type(body, systems.RESET_TYPES, "ComputerSystem.Reset")
    if desk.faults.power_lies:
        return Answer(status=204)
    before = await desk.machine.power()
    word = _POWER[kind]
    await desk.machine.set_power(word)
    if word == "reset" or (word == "on" and before is PowerState.OFF):
        desk.bmc.last_reset_at = desk.now()
        desk.bmc.resets += 1
        if desk.faults.forget_sessions:
            desk.bmc.sessions.clear()
    return Answer(status=204)


async def reset_manager(desk: Desk, body: Body) -> Answer:
    """Manager.Reset: sessions are lost, the host goes on."""
    _reset_type(body, MANAGER_RESETS, "Manager.Reset", default="GracefulRestart")
    desk.bmc.sessions.clear()
    desk.bmc.started_at = desk.now()
    return Answer(status=204)


async def refuse_update(desk: Desk, body: Body) -> Answer:
    """UpdateService is disabled."""
    raise refuse(503, "ServiceDisabled", "UpdateService")


def _reset_type(body: Body, allowed: tuple[str, ...], action: str, default: str | None = None) -> str:
    unknown = next((name for name in body if name != "ResetType"), None)
    if unknown is not None:
        raise refuse(400, "ActionParameterUnknown", action, unknown)
    kind = body.get("ResetType", default)
    if kind is None:
        raise refuse(400, "ActionParameterMissing", action, "ResetType")
    if kind not in allowed:
        raise refuse(400, "ActionParameterValueNotInList", str(kind)[:100], "ResetType", action)
    return str(kind)


# -- boot override -------------------------------------------------------------------------------------------------------------


async def patch_host(desk: Desk, body: Body) -> Answer:
    """PATCH of the host system: `Boot` and `AssetTag`."""
    for name in body:
        if name not in {"Boot", "AssetTag"}:
            known = {"PowerState", "SerialNumber", "Model", "UUID", "Id", "Name", "BiosVersion", "HostName", "Status"}
            raise refuse(400, "PropertyNotWritable" if name in known else "PropertyUnknown", name, prop=name)
    boot = body.get("Boot", {})
    if not isinstance(boot, dict):
        raise refuse(400, "PropertyValueTypeError", str(boot)[:100], "Boot", prop="Boot")
    if "AssetTag" in body:
        desk.bmc.asset_tag = text_of(body["AssetTag"], "AssetTag")
    if boot:
        await _set_boot(desk, boot)
    return Answer(status=204)


async def _set_boot(desk: Desk, boot: Body) -> None:
    target, once = await desk.machine.boot()
    override = _choice(boot, "BootSourceOverrideEnabled", systems.OVERRIDES, "Continuous" if not once else "Once")
    source = _choice(boot, "BootSourceOverrideTarget", systems.BOOT_SOURCES, systems.boot_source(target, desk.bmc.network_path))
    mode = _choice(boot, "BootSourceOverrideMode", ("UEFI", "Legacy"), desk.bmc.boot_mode)
    known = {"BootSourceOverrideEnabled", "BootSourceOverrideTarget", "BootSourceOverrideMode", "HttpBootUri"}
    unknown = next((name for name in boot if name not in known), None)
    if unknown is not None:
        raise refuse(400, "PropertyNotWritable" if unknown.startswith("Boot") else "PropertyUnknown", unknown, prop=f"Boot/{unknown}")
    if "HttpBootUri" in boot:
        uri = boot["HttpBootUri"]
        desk.bmc.http_boot_uri = None if uri in {None, ""} else text_of(uri, "Boot/HttpBootUri")
    desk.bmc.boot_mode = mode
    if override == "Disabled" or source == "None":
        await desk.machine.set_boot(BootTarget.NONE, False)
        return
    if source in {"Pxe", "UefiHttp"}:
        desk.bmc.network_path = source
    await desk.machine.set_boot(_TARGETS[source], override == "Once")


def _choice(body: Body, name: str, allowed: tuple[str, ...], default: str) -> str:
    value = body.get(name, default)
    if value not in allowed:
        raise refuse(400, "PropertyValueNotInList", str(value)[:100], name, prop=f"Boot/{name}")
    return str(value)


# -- the table -----------------------------------------------------------------------------------------------------------------

Posting = Callable[[Desk, Body], Awaitable[Answer]]

POSTS: dict[str, tuple[Posting, str]] = {
    f"{HOST}/Actions/ComputerSystem.Reset": (reset_system, "ConfigureComponents"),
    f"{BMC}/Actions/Manager.Reset": (reset_manager, "ConfigureManager"),
    f"{ROOT}/UpdateService/Actions/UpdateService.SimpleUpdate": (refuse_update, "ConfigureComponents"),
    services.SESSIONS: (client_records.create_session, ""),
    f"{services.SESSIONS}/Members": (client_records.create_session, ""),
    services.ACCOUNTS: (client_records.create_account, "ConfigureUsers"),
    f"{services.ACCOUNTS}/Members": (client_records.create_account, "ConfigureUsers"),
    services.SUBSCRIPTIONS: (client_records.create_subscription, "ConfigureManager"),
    f"{services.SUBSCRIPTIONS}/Members": (client_records.create_subscription, "ConfigureManager"),
}
PATCHES: dict[str, tuple[Posting, str]] = {
    HOST: (patch_host, "ConfigureComponents"),
    f"{ROOT}/SessionService": (client_records.patch_session_service, "ConfigureManager"),
}


def handler_for(method: str, path: str) -> tuple[Posting, str] | None:
    """The handler of a write and the privilege it needs."""
    match method:
        case "POST":
            return POSTS.get(path)
        case "PATCH":
            return patch_for(path)
        case "DELETE":
            return delete_for(path)
        case _:
            return None


def patch_for(path: str) -> tuple[Posting, str] | None:
    """The handler of a PATCH and the privilege it needs."""
    collection, _, key = path.rpartition("/")
    if collection == services.ACCOUNTS:
        return (lambda desk, body: client_records.patch_account(desk, unquote(key), body)), "ConfigureUsers"
    return PATCHES.get(path)


def delete_for(path: str) -> tuple[Posting, str] | None:
    """The handler of a DELETE and the privilege it needs."""
    collection, _, key = path.rpartition("/")
    deletes: dict[str, tuple[Callable[[Desk, str], Awaitable[Answer]], str]] = {
        services.SESSIONS: (client_records.delete_session, "ConfigureSelf"),
        services.ACCOUNTS: (client_records.delete_account, "ConfigureUsers"),
        services.SUBSCRIPTIONS: (client_records.delete_subscription, "ConfigureManager"),
    }
    if collection not in deletes:
        return None
    handler, privilege = deletes[collection]
    return (lambda desk, body: handler(desk, unquote(key))), privilege


def allowed_methods(path: str, document: Document | None) -> str:
    """The `Allow` header of a path."""
    methods = ["GET", "HEAD"] if document is not None else []
    methods += ["POST"] if path in POSTS else []
    methods += ["PATCH"] if patch_for(path) else []
    methods += ["DELETE"] if delete_for(path) else []
    return ", ".join(methods)
