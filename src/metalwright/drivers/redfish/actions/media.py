"""Virtual CD: BMCs differ in where the slots are, what they are called and which fields they take (Q60)."""

from metalwright.drivers.redfish.actions.context import Context, action_target, texts
from metalwright.drivers.redfish.client import Answer, Document
from metalwright.drivers.redfish.documents import inner, link_of
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.power import sorted_failure
from metalwright.model.bmc_actions import EjectMedia, InsertMedia

_INSERT, _EJECT = "#VirtualMedia.InsertMedia", "#VirtualMedia.EjectMedia"


async def insert_media(context: Context, action: InsertMedia) -> None:
    """Insert into the first CD slot that takes media; another image in it is ejected first."""
    slots = await cd_slots(context)
    if any(is_inserted(slot) and slot.get("Image") == action.image_url for _, slot in slots):
        return
    usable = [(path, slot) for path, slot in slots if _INSERT in inner(slot, "Actions")]
    for path, slot in usable or slots:
        if is_inserted(slot):
            await _eject(context, path, slot)
        answer = await _insert(context, path, slot, action.image_url)
        if answer.is_ok:
            return
        if answer.status not in (404, 405):
            raise sorted_failure(answer, "virtual media")
    raise BmcFault("this BMC has no virtual CD", hint="does its licence include virtual media?")


async def eject_media(context: Context, _: EjectMedia) -> None:
    """Eject every CD that is inserted."""
    for path, slot in await cd_slots(context):
        if is_inserted(slot):
            await _eject(context, path, slot)


async def cd_slots(context: Context) -> list[tuple[str, Document]]:
    """CD slots of the system, then of its managers; each once."""
    holders = [context.host.system, *await context.managers()]
    collections = dict.fromkeys(link for holder in holders if (link := link_of(holder.get("VirtualMedia"))))
    found = []
    for collection in collections:
        for path, slot in await context.members({"@odata.id": collection}, most=16):
            if {"CD", "DVD"} & set(texts(slot.get("MediaTypes"))) or slot.get("Id") in ("Cd", "CD"):
                found.append((path, slot))
    return found


def is_inserted(slot: Document) -> bool:
    """Some leave Inserted true after eject with no image (stale): without an image nothing is inserted."""
    return bool(slot.get("Inserted")) and bool(slot.get("Image") or slot.get("ImageName"))


async def _insert(context: Context, path: str, slot: Document, image: str) -> Answer:
    """The bare image first; then with what Nokia, and what others, require. Without the action: PATCH (Lenovo SD530)."""
    if _INSERT not in inner(slot, "Actions"):
        return await context.ladder.patch(context.client, path, {"Image": image, "Inserted": True})
    protocol = "HTTPS" if image.lower().startswith("https:") else "HTTP"
    forms: list[Document] = [
        {"Image": image},
        {"Image": image, "Inserted": True, "WriteProtected": True},
        {"Image": image, "TransferProtocolType": protocol, "TransferMethod": "Stream"},
    ]
    answer = Answer(405, {})
    for form in forms:
        answer = await context.client.ask("POST", action_target(slot, _INSERT), form)
        if answer.status != 400:
            return answer
    return answer


async def _eject(context: Context, path: str, slot: Document) -> None:
    if _EJECT in inner(slot, "Actions"):
        answer = await context.client.ask("POST", action_target(slot, _EJECT), {})  # some want a body, be it empty
    else:
        answer = await context.ladder.patch(context.client, path, {"Image": None, "Inserted": False})
    if not answer.is_ok:
        raise sorted_failure(answer, "ejecting virtual media")
