"""What a BMC is set to: the fresh look that proves settings. More requests than a power read; read it when a step needs it."""

from collections.abc import Mapping

from metalwright.drivers.redfish.actions.context import Context, settings_path, texts
from metalwright.drivers.redfish.actions.media import cd_slots, is_inserted
from metalwright.drivers.redfish.actions.power_limit import power_knobs
from metalwright.drivers.redfish.actions.whole_machine import manager_start
from metalwright.drivers.redfish.client import Document
from metalwright.drivers.redfish.documents import identifier, inner, text_of
from metalwright.model.observation import MediaSlot, SettingsSeen

_WAITING = frozenset({"New", "Scheduled", "Starting", "Running", "Pending", "Waiting", "RebootPending", "Suspended"})


async def read_settings(context: Context) -> SettingsSeen:
    """BIOS now and pending, boot order, media, power limits."""
    bios = await context.document(context.host.system.get("Bios")) or {}
    pending = await context.document({"@odata.id": settings_path(bios)}) or {}
    now = _texts(inner(bios, "Attributes"))
    later = _texts(inner(pending, "Attributes"))
    boot = inner(context.host.system, "Boot")
    media = [
        MediaSlot(name=identifier(path, slot), image=text_of(slot.get("Image")), is_inserted=is_inserted(slot))
        for path, slot in await cd_slots(context)
    ]
    return SettingsSeen(
        identity_serial=context.host.serial,
        bios=now,
        bios_pending={name: value for name, value in later.items() if now.get(name) != value},
        is_apply_pending=await _is_bios_job_open(context),
        boot_order=tuple(texts(boot.get("BootOrder"))),
        http_boot_uri=text_of(boot.get("HttpBootUri")),
        media=tuple(media),
        bmc_started_at=manager_start(await context.managers()),
        power_limits=tuple(knob.limit for knob in await power_knobs(context)),
    )


def _texts(attributes: Mapping[str, object]) -> dict[str, str]:
    """Attributes as the spec writes them: booleans in lower case, null as empty."""
    return {name: _text(value) for name, value in attributes.items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


async def _is_bios_job_open(context: Context) -> bool:
    """A task or job that speaks of BIOS and is not over: until then Dell shows wanted values as present ones (Q23)."""
    root = await context.client.root()
    for service_name, list_name in (("Tasks", "Tasks"), ("JobService", "Jobs")):
        service = await context.document(root.get(service_name))
        for _, job in await context.members((service or {}).get(list_name), most=64):
            if _state(job) in _WAITING and "BIOS" in f"{job.get('Name', '')} {job.get('JobType', '')}".upper():
                return True
    return False


def _state(job: Document) -> str:
    return str(job.get("TaskState") or job.get("JobState") or "")
