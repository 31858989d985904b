"""Finding and re-reading the host system of a BMC in few requests: what every power read and every write begins with."""

from dataclasses import dataclass

from metalwright.drivers.redfish.client import Document, RedfishClient
from metalwright.drivers.redfish.documents import inner, link_of, links_of, text_of
from metalwright.drivers.redfish.failures import BmcUnavailable, malformed
from metalwright.drivers.redfish.host_system import choose_host
from metalwright.drivers.redfish.inventory.identity import holds_host
from metalwright.drivers.redfish.knowledge import Knowledge
from metalwright.drivers.redfish.vendors import Vendor, vendor_of

_MOST_SYSTEMS = 64
_MOST_CHASSIS = 128


@dataclass(slots=True)
class Host:
    """The host system as just read."""

    path: str
    system: Document
    serial: str | None


class HostFinder:
    """Knows where the host is, and where its serial is shown when not on the system itself."""

    def __init__(self, client: RedfishClient, wanted_serial: str, known: Knowledge) -> None:
        self._client = client
        self._wanted_serial = wanted_serial
        self._known = known

    async def read(self) -> Host:
        """The host, fresh. One request when it is known and shows its serial."""
        root = await self._client.root()
        vendor = vendor_of(root)
        system = await self._read_known()
        if system is None:
            self._known.host_path, system = await self._find(root, vendor)
        assert self._known.host_path is not None
        serial = vendor.system_serial(system) or await self._serial_of_chassis(root)
        return Host(self._known.host_path, system, serial)

    async def _read_known(self) -> Document | None:
        if self._known.host_path is None:
            return None
        answer = await self._client.ask("GET", self._known.host_path)
        if answer.is_ok:
            return answer.document
        self._known.host_path = None
        if answer.status == 404:
            return None
        raise BmcUnavailable(f"the host system: {answer.why}")

    async def _find(self, root: Document, vendor: Vendor) -> tuple[str, Document]:
        collection = link_of(root.get("Systems")) or "/redfish/v1/Systems"
        systems = []
        reasons = []
        for path in links_of((await self._client.get(collection)).document.get("Members"))[:_MOST_SYSTEMS]:
            answer = await self._client.ask("GET", path)
            if answer.is_ok:
                systems.append((path, answer.document))
            else:
                reasons.append(f"{path}: {answer.why}")
        found = choose_host(systems, vendor, self._wanted_serial)
        if found is None:
            raise malformed(str(self._client.http.origin), "no system could be read " + "; ".join(reasons[:3]))
        return found, dict(systems)[found]

    async def _serial_of_chassis(self, root: Document) -> str | None:
        """GB200 trays show their serial on the chassis that holds the host, not on the system."""
        if self._known.serial_path is not None:
            return text_of((await self._client.get(self._known.serial_path)).document.get("SerialNumber"))
        collection = link_of(root.get("Chassis"))
        if collection is None:
            return None
        found: dict[str, str] = {}
        for path in links_of((await self._client.get(collection)).document.get("Members"))[:_MOST_CHASSIS]:
            answer = await self._client.ask("GET", path)
            serial = text_of(answer.document.get("SerialNumber"))
            if answer.is_ok and serial and holds_host(answer.document, self._known.host_path):
                found[path] = serial
        if len(set(found.values())) != 1:
            return None
        self._known.serial_path, serial = next(iter(found.items()))
        return serial


def boot_of(system: Document) -> Document:
    """The Boot object of a system or of its settings object."""
    return dict(inner(system, "Boot"))
