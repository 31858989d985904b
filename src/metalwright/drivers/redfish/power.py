"""Power: what it is, and how to change it on BMCs that disagree about words. Returning from here proves nothing."""

import asyncio
from typing import Literal

from metalwright.drivers.redfish.client import Answer, Document, RedfishClient
from metalwright.drivers.redfish.documents import inner, link_of, objects
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable, malformed
from metalwright.drivers.redfish.host import Host, HostFinder
from metalwright.drivers.redfish.messages import is_not_like_this, is_try_again
from metalwright.model.hardware import PowerState

Wanted = Literal["on", "off", "shutdown", "reset"]

_STATES = {
    "On": PowerState.ON,
    "Off": PowerState.OFF,
    "PoweringOn": PowerState.TURNING_ON,
    "PoweringOff": PowerState.TURNING_OFF,
    "Reset": PowerState.TURNING_ON,
    "Paused": PowerState.ON,
}
_PREFERENCES: dict[Wanted, tuple[str, ...]] = {
    "on": ("On", "ForceOn", "PushPowerButton"),
    "off": ("ForceOff",),
    "shutdown": ("GracefulShutdown", "PushPowerButton"),
    "reset": ("ForceRestart", "PowerCycle"),
}
_OFF_WAIT_S = 30.0
_POLL_S = 1.0


def power_of(system: Document) -> PowerState:
    """PowerState as ours; null and words of vendors are unknown (Q28)."""
    return _STATES.get(str(system.get("PowerState")), PowerState.UNKNOWN)


async def set_power(client: RedfishClient, finder: HostFinder, host: Host, to: Wanted) -> None:
    """Ask for the change. Level changes do nothing when they are already reached or under way."""
    state = power_of(host.system)
    if _is_reached(state, to):
        return
    allowed = await allowed_reset_types(client, host.system)
    if to == "reset" and state in (PowerState.OFF, PowerState.TURNING_OFF):
        to = "on"
    for kind in _PREFERENCES[to]:
        if allowed is None or kind in allowed:
            await _reset(client, finder, host, kind, to)
            return
    if to == "reset" and allowed is not None and {"ForceOff", "On"} <= allowed:
        await _off_and_on(client, finder, host)
        return
    words = ", ".join(sorted(allowed or ()))
    raise BmcFault(f"this BMC cannot turn power {to!r}: it allows {words}", hint="set the machine's power by hand")


async def allowed_reset_types(client: RedfishClient, system: Document) -> set[str] | None:
    """AllowableValues, inline or in the ActionInfo (Q30); None when the BMC lists none."""
    action = inner(system, "Actions", "#ComputerSystem.Reset")
    inline = action.get("ResetType@Redfish.AllowableValues")
    if isinstance(inline, list) and inline:
        return {str(word) for word in inline}
    info = action.get("@Redfish.ActionInfo")
    if isinstance(info, dict):
        info = link_of(info)
    if not isinstance(info, str):
        return None
    answer = await client.ask("GET", info)
    for parameter in objects(answer.document.get("Parameters")):
        values = parameter.get("AllowableValues")
        if parameter.get("Name") == "ResetType" and isinstance(values, list):
            return {str(word) for word in values}
    return None


def _is_reached(state: PowerState, to: Wanted) -> bool:
    if to == "on":
        return state in (PowerState.ON, PowerState.TURNING_ON)
    return to in ("off", "shutdown") and state == PowerState.OFF


async def _reset(client: RedfishClient, finder: HostFinder, host: Host, kind: str, to: Wanted) -> None:
    target = inner(host.system, "Actions", "#ComputerSystem.Reset").get("target")
    if not isinstance(target, str):
        raise malformed(host.path, "the system has no reset action")
    answer = await client.ask("POST", target, {"ResetType": kind})
    if answer.is_ok:
        return
    if answer.status in (400, 409) and to != "reset":
        # On when already on: Dell 409, HPE 400 (Q26). The state decides, not the code.
        now = power_of((await finder.read()).system)
        if _is_reached(now, to):
            return
    raise sorted_failure(answer, f"reset type {kind}")


async def _off_and_on(client: RedfishClient, finder: HostFinder, host: Host) -> None:
    """For BMCs without a restart that works (Q29): off, wait until it is off, on."""
    await _reset(client, finder, host, "ForceOff", "off")
    try:
        async with asyncio.timeout(_OFF_WAIT_S):
            while power_of((await finder.read()).system) != PowerState.OFF:  # noqa: ASYNC110 - a BMC has no event to wait for
                await asyncio.sleep(_POLL_S)
    except TimeoutError as error:
        message = f"power is not off {_OFF_WAIT_S:g} s after ForceOff, so it was not turned on again"
        raise BmcUnavailable(message, failure_class="timeout", retry_after_s=10.0) from error
    await _reset(client, finder, host, "On", "on")


def started(answer: Answer, what: str) -> str:
    """Path of the task or monitor of what was accepted (Q39); empty when the BMC names none."""
    if not answer.is_ok:
        raise sorted_failure(answer, what)
    location = answer.headers.get(b"location", b"").decode("latin-1")
    return location or link_of(answer.document) or link_of(inner(answer.document, "Task")) or ""


def sorted_failure(answer: Answer, what: str) -> BmcFault | BmcUnavailable:
    """Who must act on a refusal: the loop, or a person when the BMC says that it never takes this."""
    if is_try_again(answer.document) or answer.status in (409, 423, 429) or answer.status >= 500:
        return BmcUnavailable(f"{what} was not accepted: {answer.why}", retry_after_s=15.0)
    if answer.status == 403:
        hint = "give the BMC account the privilege ConfigureComponents"
        return BmcFault(f"{what} was refused: {answer.why}", failure_class="unauthorized", hint=hint)
    if is_not_like_this(answer.document) or answer.status in (400, 404, 405, 501):
        return BmcFault(f"{what} was refused: {answer.why}", hint="this BMC or its firmware does not take this action")
    return BmcUnavailable(f"{what} was not accepted: {answer.why}")
