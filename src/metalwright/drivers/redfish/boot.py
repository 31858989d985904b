"""Boot override: what the next start comes from, and how to set it on BMCs that want it whole, minimal, or elsewhere."""

from metalwright.drivers.redfish.client import Answer, Document, RedfishClient
from metalwright.drivers.redfish.documents import inner, link_of
from metalwright.drivers.redfish.etags import EtagLadder
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.host import Host, boot_of
from metalwright.drivers.redfish.power import sorted_failure
from metalwright.model.hardware import BootTarget
from metalwright.ports import SetBoot

_TARGETS = {
    "None": BootTarget.NONE,
    "Hdd": BootTarget.DISK,
    "Pxe": BootTarget.NETWORK,
    "UefiHttp": BootTarget.NETWORK,
}
_NETWORK = {"uefi-http": ("UefiHttp", "UEFI"), "uefi-pxe": ("Pxe", "UEFI"), "bios-pxe": ("Pxe", "Legacy")}


async def boot_seen(client: RedfishClient, system: Document) -> tuple[BootTarget, bool]:
    """(target, once) as it will be at the next start: the pending override where a settings object holds one, else the present."""
    pending = await _settings_boot(client, system)
    for boot in (pending, boot_of(system)):
        target, once = override_of(boot)
        if target is not BootTarget.NONE:
            return target, once
    return BootTarget.NONE, False


async def set_boot(client: RedfishClient, ladder: EtagLadder, host: Host, action: SetBoot) -> None:
    """PATCH the override unless it is set already. BmcFault when this BMC cannot boot from there."""
    holder, boot = await _where(client, host)
    wanted = _wanted(action, boot)
    if all(boot.get(name) == value for name, value in wanted.items() if name in boot or name != "BootSourceOverrideMode"):
        return
    answer = await _patch(client, ladder, holder, wanted)
    if not answer.is_ok and holder != host.path and answer.status in (400, 404, 405):
        # Some BMCs show the property in the settings object and want it on the system (Q20).
        answer = await _patch(client, ladder, host.path, wanted)
    if not answer.is_ok:
        raise sorted_failure(answer, f"boot override {wanted['BootSourceOverrideTarget']}")


async def _patch(client: RedfishClient, ladder: EtagLadder, path: str, wanted: Document) -> Answer:
    """The full triple, since some reset what is not echoed; on 400 the minimum, since some refuse the mode (Q33)."""
    answer = await ladder.patch(client, path, {"Boot": wanted})
    if answer.status == 400 and "BootSourceOverrideMode" in wanted:
        minimal = {name: value for name, value in wanted.items() if name != "BootSourceOverrideMode"}
        answer = await ladder.patch(client, path, {"Boot": minimal})
    return answer


async def _where(client: RedfishClient, host: Host) -> tuple[str, Document]:
    """Path and Boot object to write: the settings object only if it holds the property (Q20), else the system itself."""
    path = link_of(inner(host.system, "@Redfish.Settings").get("SettingsObject"))
    pending = await _settings_boot(client, host.system)
    if path is not None and "BootSourceOverrideTarget" in pending:
        return path, pending
    return host.path, boot_of(host.system)


async def _settings_boot(client: RedfishClient, system: Document) -> Document:
    path = link_of(inner(system, "@Redfish.Settings").get("SettingsObject"))
    if path is None:
        return {}
    answer = await client.ask("GET", path)
    return boot_of(answer.document) if answer.is_ok else {}


def override_of(boot: Document) -> tuple[BootTarget, bool]:
    """(target, once) of a Boot object; NONE when the override is disabled."""
    enabled = boot.get("BootSourceOverrideEnabled")
    if enabled not in ("Once", "Continuous"):
        return BootTarget.NONE, False
    return _TARGETS.get(str(boot.get("BootSourceOverrideTarget")), BootTarget.OTHER), enabled == "Once"


def _wanted(action: SetBoot, boot: Document) -> Document:
    if action.target is BootTarget.NONE:
        return {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}
    target, mode = _NETWORK.get(action.path, ("Pxe", "UEFI")) if action.target is BootTarget.NETWORK else ("Hdd", "UEFI")
    if action.path == "bios-pxe":
        mode = "Legacy"
    _refuse_unlisted(boot, "BootSourceOverrideTarget", target)
    enabled = "Once" if action.once else "Continuous"
    _refuse_unlisted(boot, "BootSourceOverrideEnabled", enabled)
    wanted = {"BootSourceOverrideEnabled": enabled, "BootSourceOverrideTarget": target, "BootSourceOverrideMode": mode}
    if action.http_uri is not None and target == "UefiHttp":
        if "HttpBootUri" not in boot:
            hint = "hand out the URI by DHCP (option 67) instead"
            raise BmcFault("this BMC takes no HttpBootUri", hint=hint)
        wanted["HttpBootUri"] = action.http_uri
    return wanted


def _refuse_unlisted(boot: Document, name: str, value: str) -> None:
    allowed = boot.get(f"{name}@Redfish.AllowableValues")
    if isinstance(allowed, list) and allowed and value not in allowed:
        words = ", ".join(str(word) for word in allowed)
        hint = "set system.boot in the site spec to a path this machine has (uefi-pxe where UefiHttp is missing)"
        raise BmcFault(f"this BMC offers no {name} {value}: it allows {words}", hint=hint)
