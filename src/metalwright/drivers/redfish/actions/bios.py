"""BIOS attributes: checked against the registry first, since one unknown name makes a BMC refuse all (Q24); then one PATCH."""

from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.actions.context import Context, settings_path
from metalwright.drivers.redfish.documents import inner, link_of, objects
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable
from metalwright.drivers.redfish.power import sorted_failure
from metalwright.model.bmc_actions import SetBios

Document = Mapping[str, Any]
Values = dict[str, str | int | bool]
_COMMITTED = "already committed"


async def set_bios(context: Context, action: SetBios) -> None:
    """Write what differs, to the settings object, to be applied at the next start. BmcFault names every attribute that is wrong."""
    bios = await context.document(context.host.system.get("Bios"))
    if bios is None:
        raise BmcFault("this BMC shows no BIOS attributes")
    current = inner(bios, "Attributes")
    wanted = checked(action.attributes, current, await _registry(context, bios))
    path = settings_path(bios) or link_of(context.host.system.get("Bios")) or ""
    pending = inner((await context.document({"@odata.id": path})) or {}, "Attributes")
    changes = {name: value for name, value in wanted.items() if pending.get(name, current.get(name)) != value}
    if not changes:
        return
    answer = await context.ladder.patch(context.client, path, {"Attributes": changes, **_apply_time(bios)})
    if answer.is_ok:
        return
    if _COMMITTED in answer.why:
        # iDRAC: a job for an earlier change waits for the reboot; a second one is never created (Q22).
        raise BmcUnavailable(f"BIOS settings wait for a reboot: {answer.why}", retry_after_s=60.0)
    raise sorted_failure(answer, "BIOS attributes")


def checked(wanted: Mapping[str, str], current: Document, registry: Mapping[str, Document]) -> Values:
    """Wanted texts as the types the registry (or, without one, the present value) asks for; BmcFault listing all that is wrong."""
    values: Values = {}
    wrong = []
    for name, text in wanted.items():
        entry = registry.get(name)
        if entry is None and (registry or name not in current):
            wrong.append(f"{name}: unknown")
            continue
        value, problem = _typed(text, entry, current.get(name))
        if problem:
            wrong.append(f"{name}: {problem}")
        values[name] = value
    if wrong:
        hint = "correct system.bios in the site spec"
        raise BmcFault("BIOS attributes this machine does not take: " + "; ".join(sorted(wrong)), hint=hint)
    return values


def _typed(text: str, entry: Document | None, current: object) -> tuple[str | int | bool, str]:
    kind = entry.get("Type") if entry else {bool: "Boolean", int: "Integer"}.get(type(current), "String")
    if entry and entry.get("ReadOnly") is True:
        return text, "read-only"
    if kind == "Boolean":
        lower = text.lower()
        return lower in ("true", "1", "yes"), "" if lower in ("true", "false", "1", "0", "yes", "no") else f"{text!r} is not true or false"
    if kind == "Integer":
        return _integer(text, entry or {})
    allowed = [value.get("ValueName") for value in objects((entry or {}).get("Value"))]
    if kind == "Enumeration" and allowed and text not in allowed:
        return text, f"{text!r} is not one of {', '.join(str(value) for value in allowed[:12])}"
    return text, ""


def _integer(text: str, entry: Document) -> tuple[int, str]:
    if not text.lstrip("-").isdigit() or len(text) > 18:
        return 0, f"{text!r} is not a whole number"
    value = int(text)
    low, high = entry.get("LowerBound"), entry.get("UpperBound")
    is_low = isinstance(low, int | float) and value < low
    is_high = isinstance(high, int | float) and value > high
    return value, f"{value} is not within {low} and {high}" if is_low or is_high else ""


def _apply_time(bios: Document) -> dict[str, Any]:
    """Without it Dell accepts and never applies (Q21); where it is not listed it may be refused."""
    settings = inner(bios, "@Redfish.Settings")
    supported = settings.get("SupportedApplyTimes")
    if isinstance(supported, list) and "OnReset" in supported:
        return {"@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}}
    return {}


async def _registry(context: Context, bios: Document) -> dict[str, Document]:
    """Attribute name → entry. Empty when the BMC has none that can be found (names differ in version and language, Q25)."""
    root = await context.client.root()
    named = str(bios.get("AttributeRegistry") or "BiosAttributeRegistry")
    files = [file for path, file in await context.members(root.get("Registries")) if "BiosAttributeRegistry" in path or named in path]
    exact = [file for file in files if named in (file.get("Id"), file.get("Registry"))]
    for file in exact or (files if len(files) == 1 else []):
        for location in objects(file.get("Location")):
            registry = await context.document({"@odata.id": location.get("Uri")})
            entries = objects(inner(registry or {}, "RegistryEntries").get("Attributes"))
            if entries:
                return {str(entry.get("AttributeName")): entry for entry in entries}
    return {}
