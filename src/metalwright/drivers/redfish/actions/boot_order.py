"""The persistent boot order, for BMCs without a continuous override (Q34)."""

from metalwright.drivers.redfish.actions.context import Context, settings_path, texts
from metalwright.drivers.redfish.documents import inner
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.power import sorted_failure
from metalwright.model.bmc_actions import SetBootOrder


async def set_boot_order(context: Context, action: SetBootOrder) -> None:
    """Written where the order lives: the settings object if it holds one, else the system. Nothing when it is so already."""
    path = settings_path(context.host.system)
    pending = inner((await context.document({"@odata.id": path})) or {}, "Boot")
    holder, boot = (path, pending) if path and "BootOrder" in pending else (context.host.path, inner(context.host.system, "Boot"))
    known = {_reference(entry): entry for entry in texts(boot.get("BootOrder"))}
    unknown = [entry for entry in action.entries if entry not in known]
    if unknown:
        raise BmcFault(f"no boot options {', '.join(unknown)}: this machine has {', '.join(known)}")
    rest = [entry for reference, entry in known.items() if reference not in action.entries]
    order = [known[entry] for entry in action.entries] + rest
    if order == boot.get("BootOrder"):
        return
    answer = await context.ladder.patch(context.client, holder, {"Boot": {"BootOrder": order}})
    if not answer.is_ok:
        raise sorted_failure(answer, "boot order")


def _reference(entry: str) -> str:
    """`Boot0019: Ubuntu` → `Boot0019`; entries are written back as the BMC writes them (Q38)."""
    return entry.partition(":")[0].strip()
