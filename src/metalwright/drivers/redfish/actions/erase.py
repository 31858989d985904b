"""Sanitize one drive through the BMC. The drive is found by its serial, exactly once, or nothing is erased."""

from metalwright.drivers.redfish.actions.context import Context, action_target, allowed_values
from metalwright.drivers.redfish.client import Document
from metalwright.drivers.redfish.documents import inner, links_of, text_of
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.messages import is_not_like_this
from metalwright.drivers.redfish.power import sorted_failure
from metalwright.model.bmc_actions import EraseDrive

_ERASE = "#Drive.SecureErase"


async def erase_drive(context: Context, action: EraseDrive) -> None:
    """Ask for the first method that the drive takes (some NVMe drives refuse crypto erase, Q62). Proof: sampled media, not this."""
    drive = await _the_drive(context, action.serial)
    target = action_target(drive, _ERASE)
    listed = await allowed_values(context, inner(drive, "Actions", _ERASE), "SanitizationType")
    methods = [method for method in action.methods if method in listed] if listed else [*action.methods, ""]
    if not methods:
        raise BmcFault(f"drive {action.serial} takes {', '.join(sorted(listed))}, none of {', '.join(action.methods)}")
    for method in methods:
        answer = await context.client.ask("POST", target, {"SanitizationType": method} if method else {})
        if answer.is_ok:
            return
        if answer.status != 400 or not is_not_like_this(answer.document):
            raise sorted_failure(answer, f"erasing drive {action.serial} by {method or 'its own method'}")
    raise BmcFault(f"drive {action.serial} refused every method: {', '.join(methods)}", hint="erase it in-band, or behind its controller")


async def _the_drive(context: Context, serial: str) -> Document:
    """By serial among the host's storage. A drive shown at two paths is one."""
    wanted = serial.strip().upper()
    found: dict[str, Document] = {}
    for _, storage in await context.members(context.host.system.get("Storage"), most=32):
        for path in links_of(storage.get("Drives"))[:64]:
            drive = await context.document({"@odata.id": path})
            if drive is not None and (text_of(drive.get("SerialNumber")) or "").upper() == wanted and wanted:
                found[inner(drive, "Actions", _ERASE).get("target") or path] = drive
    if len(found) != 1:
        raise BmcFault(f"{len(found)} drives show the serial {serial}: nothing was erased", hint="erase in-band, by the identity rule")
    return next(iter(found.values()))
