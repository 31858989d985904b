"""Power limits live in three places: EnvironmentMetrics (HGX), Controls (Cray, Lenovo), Power.PowerControl (before 2020) (Q63)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.drivers.redfish.actions.context import Context
from metalwright.drivers.redfish.documents import identifier, inner, link_of, links_of, objects, trailing_number
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.power import sorted_failure
from metalwright.model.bmc_actions import SetPowerLimit
from metalwright.model.observation import PowerLimit

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Knob:
    """One place where a limit is set: its resource, what it says now, and the PATCH body for a number of watts."""

    path: str
    limit: PowerLimit
    kind: str

    def body(self, watts: int) -> dict[str, Any]:
        match self.kind:
            case "environment":
                return {"PowerLimitWatts": {"SetPoint": watts}}
            case "control":
                return {"SetPoint": watts}
            case _:
                return {"PowerControl": [{"PowerLimit": {"LimitInWatts": watts}}]}


async def set_power_limit(context: Context, action: SetPowerLimit) -> None:
    """Set one part's limit within what the BMC allows. BmcFault when it has none, or the number is out of its range."""
    knobs = [knob for knob in await power_knobs(context, action.part) if knob.limit.part == action.part]
    if not knobs:
        raise BmcFault(f"this BMC has no power limit for {action.part}")
    knob = knobs[0]
    low, high = knob.limit.min_watts or 0, knob.limit.max_watts
    if action.watts < low or (high and action.watts > high):
        raise BmcFault(f"{action.part}: {action.watts} W is not within {low} and {high} W")
    if knob.limit.watts == action.watts:
        return
    answer = await context.ladder.patch(context.client, knob.path, knob.body(action.watts))
    if not answer.is_ok:
        raise sorted_failure(answer, f"power limit of {action.part}")


async def power_knobs(context: Context, part: str = "") -> list[Knob]:
    """Every limit that can be set, or those of one part: GPUs by position, then the whole system."""
    found: list[Knob] = []
    root = await context.client.root()
    if part != "system":
        for _, system in await context.members(root.get("Systems"), most=8):
            for path, processor in await context.members(system.get("Processors")):
                number = trailing_number(identifier(path, processor))
                name = f"gpu:{number}"
                if processor.get("ProcessorType") == "GPU" and number is not None and part in ("", name):
                    found += await _environment(context, processor, name)
    if part in ("", "system"):
        for path in links_of(inner(context.host.system, "Links").get("Chassis"))[:4]:
            chassis = await context.document({"@odata.id": path})
            found += await _of_chassis(context, chassis or {})
    return found


async def _of_chassis(context: Context, chassis: Document) -> list[Knob]:
    if found := await _environment(context, chassis, "system"):
        return found
    for path, control in await context.members(chassis.get("Controls"), most=32):
        is_whole = control.get("PhysicalContext") in ("Chassis", "Intake", None)
        if control.get("ControlType") == "Power" and "SetPoint" in control and is_whole:
            return [Knob(path, _limit("system", control, "SettingMin", "SettingMax"), "control")]
    power = await context.document(chassis.get("Power"))
    controls = objects((power or {}).get("PowerControl"))
    if power is not None and controls and "LimitInWatts" in inner(controls[0], "PowerLimit"):
        watts = _whole(inner(controls[0], "PowerLimit").get("LimitInWatts"))
        limit = PowerLimit(part="system", watts=watts, max_watts=_whole(controls[0].get("PowerCapacityWatts")))
        return [Knob(link_of(chassis.get("Power")) or "", limit, "power-control")]
    return []


async def _environment(context: Context, holder: Document, part: str) -> list[Knob]:
    metrics = await context.document(holder.get("EnvironmentMetrics"))
    limit = inner(metrics or {}, "PowerLimitWatts")
    path = link_of(holder.get("EnvironmentMetrics"))
    return [Knob(path, _limit(part, limit), "environment")] if path and "SetPoint" in limit else []


def _limit(part: str, holder: Document, low: str = "AllowableMin", high: str = "AllowableMax") -> PowerLimit:
    watts, least, most = _whole(holder.get("SetPoint")), _whole(holder.get(low)), _whole(holder.get(high))
    return PowerLimit(part=part, watts=watts, min_watts=least, max_watts=most)


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 else None
