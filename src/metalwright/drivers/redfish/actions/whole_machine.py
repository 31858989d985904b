"""AC cycle, factory reset, log collection: actions on the BMC or on the power behind it. Returning from here proves nothing.

Proof of an AC cycle and of a factory reset is another start time of the BMC than the baseline (`SettingsSeen.bmc_started_at`);
proof of a collection is a dump that was not listed before (`list_dumps`).
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from metalwright.drivers.redfish.actions.context import Context, action_target, allowed_values
from metalwright.drivers.redfish.client import Document
from metalwright.drivers.redfish.documents import inner, links_of, text_of
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.power import power_of, sorted_failure, started
from metalwright.model.bmc_actions import FactoryReset
from metalwright.model.hardware import PowerState

_FULL = "FullPowerCycle"
_MOST_CHASSIS = 64
_RESETS = ("#ComputerSystem.Reset", "#Chassis.Reset")
_COLLECT = "#LogService.CollectDiagnosticData"
_DEFAULTS = "#Manager.ResetToDefaults"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """One collected log on the BMC: `path` of its entry, `uri` of its bytes. `created` is the BMC's claim."""

    path: str
    uri: str
    size_bytes: int | None
    created: str | None


async def ac_cycle(context: Context) -> None:
    """Cut the standby power too: `FullPowerCycle` of the system or its chassis, else an OEM action that wants the host off (Q31)."""
    async for holder in _holders(context):
        for name in _RESETS:
            if _FULL in await allowed_values(context, inner(holder, "Actions", name), "ResetType"):
                answer = await context.client.ask("POST", action_target(holder, name), {"ResetType": _FULL})
                if not answer.is_ok:
                    raise sorted_failure(answer, "the AC cycle")
                return
        for name, action in inner(holder, "Actions", "Oem").items():
            if name.endswith(".AuxPowerReset") and isinstance(action, dict) and isinstance(action.get("target"), str):
                await _auxiliary(context, action)
                return
    raise BmcFault("this BMC offers no AC cycle", hint="switch the outlets of the rack's power distribution unit, or pull the cords")


async def factory_reset(context: Context, action: FactoryReset) -> None:
    """ResetToDefaults of the host's BMC. `keep_access` needs a BMC that can keep network and users; none is reset without it."""
    offering = [manager for manager in await context.managers() if _DEFAULTS in inner(manager, "Actions")]
    if len(offering) != 1:
        raise BmcFault(f"{len(offering)} BMCs of this machine offer a factory reset: nothing was reset", hint="do it on the BMC itself")
    kind = "PreserveNetworkAndUsers" if action.keep_access else "ResetAll"
    allowed = await allowed_values(context, inner(offering[0], "Actions", _DEFAULTS), "ResetType")
    if allowed and kind not in allowed:
        raise BmcFault(f"this BMC cannot do {kind}: it allows {', '.join(sorted(allowed))}", hint="nothing was reset")
    answer = await context.client.ask("POST", action_target(offering[0], _DEFAULTS), {"ResetType": kind})
    if not answer.is_ok:
        raise sorted_failure(answer, "the factory reset")


async def collect_logs(context: Context, kind: str = "Manager") -> str:
    """Start a dump (`Manager`, `OS`, `PreOS` …); path of its task, empty when the BMC names none."""
    refusals = []
    async for service in _log_services(context):
        if _COLLECT not in inner(service, "Actions"):
            continue
        allowed = await allowed_values(context, inner(service, "Actions", _COLLECT), "DiagnosticDataType")
        if allowed and kind not in allowed:
            refusals.append(", ".join(sorted(allowed)))
            continue
        answer = await context.client.ask("POST", action_target(service, _COLLECT), {"DiagnosticDataType": kind})
        return started(answer, "the log collection")
    raise BmcFault(f"this BMC collects no {kind} logs", hint=f"it collects {'; '.join(refusals)}" if refusals else "read its logs by hand")


async def list_dumps(context: Context) -> tuple[Dump, ...]:
    """Every collected dump that the BMC holds now."""
    found = []
    async for service in _log_services(context):
        if _COLLECT in inner(service, "Actions"):
            for path, entry in await context.members(service.get("Entries"), most=128):
                uri, size = text_of(entry.get("AdditionalDataURI")), entry.get("AdditionalDataSizeBytes")
                if uri is not None:
                    whole = size if isinstance(size, int) and not isinstance(size, bool) else None
                    found.append(Dump(path=path, uri=uri, size_bytes=whole, created=text_of(entry.get("Created"))))
    return tuple(found)


async def _auxiliary(context: Context, action: Document) -> None:
    if power_of(context.host.system) is not PowerState.OFF:
        raise BmcFault("the AC cycle of this BMC wants the host off", hint="turn the machine off, see it off, then cycle")
    answer = await context.client.ask("POST", str(action["target"]), {"ResetType": "AuxPowerCycle"})
    if not answer.is_ok:
        raise sorted_failure(answer, "the AC cycle")


async def _holders(context: Context) -> AsyncIterator[Document]:
    """The host, its own chassis, then every other."""
    yield context.host.system
    own = links_of(inner(context.host.system, "Links").get("Chassis"))
    for path in own[:_MOST_CHASSIS]:
        yield await context.document({"@odata.id": path}) or {}
    for path, chassis in await context.members((await context.client.root()).get("Chassis"), most=_MOST_CHASSIS):
        if path not in own:
            yield chassis


async def _log_services(context: Context) -> AsyncIterator[Document]:
    """Of the BMCs first, then of the host."""
    for holder in (*await context.managers(), context.host.system):
        for _, service in await context.members(holder.get("LogServices"), most=32):
            yield service


def manager_start(managers: list[Document]) -> str | None:
    """LastResetTime of the first BMC that gives one: a claim, used only to see that it changed."""
    return next((text for manager in managers if (text := text_of(manager.get("LastResetTime")))), None)
