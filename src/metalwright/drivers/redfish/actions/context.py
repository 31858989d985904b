"""What every action gets: the client, the way ETags work on this BMC, and the host whose serial was just proven."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from metalwright.drivers.redfish.client import Document, RedfishClient
from metalwright.drivers.redfish.documents import inner, link_of, links_of, objects
from metalwright.drivers.redfish.etags import EtagLadder
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.host import Host


@dataclass(frozen=True, slots=True)
class Context:
    """One act in progress."""

    client: RedfishClient
    ladder: EtagLadder
    host: Host

    async def document(self, reference: object) -> Document | None:
        """A referenced document, or None when there is no reference or nothing behind it."""
        path = link_of(reference)
        if path is None:
            return None
        answer = await self.client.ask("GET", path)
        return answer.document if answer.is_ok else None

    async def members(self, collection: object, most: int = 200) -> list[tuple[str, Document]]:
        """Readable members of a referenced collection, page by page, up to `most`."""
        found: list[tuple[str, Document]] = []
        page = await self.document(collection)
        seen: set[str] = set()
        while page is not None and len(found) < most:
            for path in links_of(page.get("Members"))[: most - len(found)]:
                answer = await self.client.ask("GET", path)
                if answer.is_ok:
                    found.append((path, answer.document))
            following = page.get("Members@odata.nextLink")
            if not isinstance(following, str) or following in seen:
                break
            seen.add(following)
            page = await self.document({"@odata.id": following})
        return found

    async def managers(self) -> list[Document]:
        """The BMCs that manage the host; where it names none (Q59), all."""
        named = links_of(inner(self.host.system, "Links").get("ManagedBy"))
        if named:
            found = [await self.document({"@odata.id": path}) for path in named[:8]]
            return [manager for manager in found if manager is not None]
        root = await self.client.root()
        return [manager for _, manager in await self.members(root.get("Managers"), most=8)]


def settings_path(document: Document) -> str | None:
    """Path of the settings object, only ever followed, never built (Q19)."""
    return link_of(inner(document, "@Redfish.Settings").get("SettingsObject"))


def action_target(document: Document, name: str) -> str:
    """Target of an action; BmcFault when this BMC does not offer it."""
    target = inner(document, "Actions", name).get("target")
    if not isinstance(target, str):
        raise BmcFault(f"this BMC does not offer {name.removeprefix('#')}", hint="do it by hand, or with the vendor's tool")
    return target


async def allowed_values(context: Context, action: Mapping[str, object], parameter: str) -> set[str]:
    """AllowableValues of an action's parameter, inline or in its ActionInfo (Q30); empty when the BMC lists none."""
    inline = set(texts(action.get(f"{parameter}@Redfish.AllowableValues")))
    info = action.get("@Redfish.ActionInfo")
    if inline or info is None:
        return inline
    document = await context.document({"@odata.id": info} if isinstance(info, str) else info)
    listed = (entry for entry in objects((document or {}).get("Parameters")) if entry.get("Name") == parameter)
    return {value for entry in listed for value in texts(entry.get("AllowableValues"))}


def texts(values: object) -> Iterator[str]:
    """The texts of an array."""
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, str))
