"""What clients make on a BMC: sessions, accounts, event subscriptions."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from metalwright.simulator.redfish import services
from metalwright.simulator.redfish.answers import Answer, refuse
from metalwright.simulator.redfish.bmc import MAX_ACCOUNTS, MAX_SESSIONS, MAX_SUBSCRIPTIONS, PRIVILEGES, Account
from metalwright.simulator.redfish.documents import segment
from metalwright.simulator.redfish.face import Desk

Body = Mapping[str, Any]


def text_of(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > 1024:
        raise refuse(400, "PropertyValueTypeError", str(value)[:100], name, prop=name)
    return value


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
    return text_of(body[name], name)


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
        _check_role(text_of(body["RoleId"], "RoleId"))
        account.role = body["RoleId"]
    if "Password" in body:
        _check_password(text_of(body["Password"], "Password"))
        account.password = body["Password"]
    account.enabled = body.get("Enabled", account.enabled) is True
    account.locked = body.get("Locked", account.locked) is True
    if "UserName" in body and body["UserName"] != user:
        desk.bmc.accounts[text_of(body["UserName"], "UserName")] = desk.bmc.accounts.pop(user)
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
