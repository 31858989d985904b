"""What a client may change: boot override, power, sessions, accounts, event subscriptions."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from metalwright.model.hardware import BootTarget, PowerState
from metalwright.simulator.redfish import services, systems
from metalwright.simulator.redfish.answers import Answer, refuse
from metalwright.simulator.redfish.bmc import MAX_ACCOUNTS, MAX_SESSIONS, MAX_SUBSCRIPTIONS, PRIVILEGES, Account
from metalwright.simulator.redfish.documents import BMC, HOST, ROOT, Document, segment
from metalwright.simulator.redfish.face import Desk
from metalwright.simulator.redfish.managers import MANAGER_RESETS

Body = Mapping[str, Any]
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
        desk.bmc.asset_tag = _text(body["AssetTag"], "AssetTag")
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
        desk.bmc.http_boot_uri = None if uri in {None, ""} else _text(uri, "Boot/HttpBootUri")
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


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > 1024:
        raise refuse(400, "PropertyValueTypeError", str(value)[:100], name, prop=name)
    return value


# -- sessions and accounts -----------------------------------------------------------------------------------------------------


async def create_session(desk: Desk, body: Body) -> Answer:
    """POST Sessions: the token is in the header, never in a body."""
    user, password = _required(body, "UserName"), _required(body, "Password")
    if len(desk.bmc.sessions) >= MAX_SESSIONS:
        desk.bmc.user_of("", desk.now())  # ends idle ones
        if len(desk.bmc.sessions) >= MAX_SESSIONS:
            raise refuse(503, "SessionLimitExceeded")
    session = desk.bmc.login(user, password, desk.now())
    if session is None:
        raise refuse(401, "NoValidSession")
    path = f"{services.SESSIONS}/{session.id}"
    return _created(desk, path, {"X-Auth-Token": session.token})


def _created(desk: Desk, path: str, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status=201, document=desk.render(path), headers={"Location": path} | dict(headers or {}))


def _required(body: Body, name: str) -> str:
    if name not in body:
        raise refuse(400, "PropertyMissing", name, prop=name)
    return _text(body[name], name)


async def delete_session(desk: Desk, key: str) -> Answer:
    if desk.bmc.sessions.pop(key, None) is None:
        raise refuse(404, "ResourceMissingAtURI", f"{services.SESSIONS}/{key}")
    return Answer(status=204)


async def patch_session_service(desk: Desk, body: Body) -> Answer:
    timeout = body.get("SessionTimeout")
    unknown = next((name for name in body if name != "SessionTimeout"), None)
    if unknown is not None:
        raise refuse(400, "PropertyNotWritable", unknown, prop=unknown)
    if isinstance(timeout, bool) or not isinstance(timeout, int) or not 30 <= timeout <= 86400:
        raise refuse(400, "PropertyValueFormatError", str(timeout)[:100], "SessionTimeout", prop="SessionTimeout")
    desk.bmc.session_timeout_s = timeout
    return Answer(status=204)


async def create_account(desk: Desk, body: Body) -> Answer:
    user, password, role = _required(body, "UserName"), _required(body, "Password"), _required(body, "RoleId")
    if user in desk.bmc.accounts:
        raise refuse(400, "ResourceAlreadyExists", "ManagerAccount", "UserName", user)
    if len(desk.bmc.accounts) >= MAX_ACCOUNTS:
        raise refuse(400, "CreateLimitReachedForResource")
    _check_role(role)
    _check_password(password)
    desk.bmc.accounts[user] = Account(user=user, password=password, role=role, enabled=body.get("Enabled", True) is True)
    return _created(desk, f"{services.ACCOUNTS}/{segment(user)}")


def _check_role(role: str) -> None:
    if role not in PRIVILEGES:
        raise refuse(400, "PropertyValueNotInList", role[:100], "RoleId", prop="RoleId")


def _check_password(password: str) -> None:
    if not 8 <= len(password) <= 64:
        raise refuse(400, "PropertyValueFormatError", "***", "Password", prop="Password")


async def patch_account(desk: Desk, user: str, body: Body) -> Answer:
    account = desk.bmc.accounts.get(user)
    if account is None:
        raise refuse(404, "ResourceMissingAtURI", f"{services.ACCOUNTS}/{user}")
    for name in body:
        if name not in {"Password", "RoleId", "Enabled", "Locked", "UserName"}:
            raise refuse(400, "PropertyUnknown", name, prop=name)
    if "RoleId" in body:
        _check_role(_text(body["RoleId"], "RoleId"))
        account.role = body["RoleId"]
    if "Password" in body:
        _check_password(_text(body["Password"], "Password"))
        account.password = body["Password"]
    account.enabled = body.get("Enabled", account.enabled) is True
    account.locked = body.get("Locked", account.locked) is True
    if "UserName" in body and body["UserName"] != user:
        desk.bmc.accounts[_text(body["UserName"], "UserName")] = desk.bmc.accounts.pop(user)
        account.user = body["UserName"]
    return Answer(status=204)


async def delete_account(desk: Desk, user: str) -> Answer:
    """The account the caller uses cannot delete itself: nobody may lock the site out by accident."""
    if user not in desk.bmc.accounts:
        raise refuse(404, "ResourceMissingAtURI", f"{services.ACCOUNTS}/{user}")
    if user == desk.user:
        raise refuse(403, "InsufficientPrivilege")
    del desk.bmc.accounts[user]
    for key in [key for key, session in desk.bmc.sessions.items() if session.user == user]:
        del desk.bmc.sessions[key]
    return Answer(status=204)


# -- events --------------------------------------------------------------------------------------------------------------------


async def create_subscription(desk: Desk, body: Body) -> Answer:
    """Kept and listed; events are not delivered yet: a client must not count on them, as with real BMCs."""
    destination, protocol = _required(body, "Destination"), _required(body, "Protocol")
    if protocol != "Redfish":
        raise refuse(400, "PropertyValueNotInList", protocol[:100], "Protocol", prop="Protocol")
    if urlsplit(destination).scheme not in {"http", "https"}:
        raise refuse(400, "PropertyValueFormatError", destination[:100], "Destination", prop="Destination")
    if len(desk.bmc.subscriptions) >= MAX_SUBSCRIPTIONS:
        raise refuse(400, "CreateLimitReachedForResource")
    key = desk.bmc.new_id()
    desk.bmc.subscriptions[key] = _subscription(body, destination)
    return _created(desk, f"{services.SUBSCRIPTIONS}/{key}")


def _subscription(body: Body, destination: str) -> dict[str, Any]:
    context = body.get("Context")
    kept: dict[str, Any] = {
        "Destination": destination,
        "Protocol": "Redfish",
        "SubscriptionType": "RedfishEvent",
        "EventFormatType": "Event",
        "Context": context[:256] if isinstance(context, str) else None,
        "Status": {"Health": "OK", "State": "Enabled"},
    }
    for name in ("RegistryPrefixes", "ResourceTypes"):
        values = body.get(name)
        if isinstance(values, list):
            kept[name] = [value for value in values[:32] if isinstance(value, str)]
    return kept


async def delete_subscription(desk: Desk, key: str) -> Answer:
    if desk.bmc.subscriptions.pop(key, None) is None:
        raise refuse(404, "ResourceMissingAtURI", f"{services.SUBSCRIPTIONS}/{key}")
    return Answer(status=204)


# -- the table -----------------------------------------------------------------------------------------------------------------

Posting = Callable[[Desk, Body], Awaitable[Answer]]

POSTS: dict[str, tuple[Posting, str]] = {
    f"{HOST}/Actions/ComputerSystem.Reset": (reset_system, "ConfigureComponents"),
    f"{BMC}/Actions/Manager.Reset": (reset_manager, "ConfigureManager"),
    f"{ROOT}/UpdateService/Actions/UpdateService.SimpleUpdate": (refuse_update, "ConfigureComponents"),
    services.SESSIONS: (create_session, ""),
    f"{services.SESSIONS}/Members": (create_session, ""),
    services.ACCOUNTS: (create_account, "ConfigureUsers"),
    f"{services.ACCOUNTS}/Members": (create_account, "ConfigureUsers"),
    services.SUBSCRIPTIONS: (create_subscription, "ConfigureManager"),
    f"{services.SUBSCRIPTIONS}/Members": (create_subscription, "ConfigureManager"),
}
PATCHES: dict[str, tuple[Posting, str]] = {
    HOST: (patch_host, "ConfigureComponents"),
    f"{ROOT}/SessionService": (patch_session_service, "ConfigureManager"),
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
        return (lambda desk, body: patch_account(desk, unquote(key), body)), "ConfigureUsers"
    return PATCHES.get(path)


def delete_for(path: str) -> tuple[Posting, str] | None:
    """The handler of a DELETE and the privilege it needs."""
    collection, _, key = path.rpartition("/")
    deletes: dict[str, tuple[Callable[[Desk, str], Awaitable[Answer]], str]] = {
        services.SESSIONS: (delete_session, "ConfigureSelf"),
        services.ACCOUNTS: (delete_account, "ConfigureUsers"),
        services.SUBSCRIPTIONS: (delete_subscription, "ConfigureManager"),
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
