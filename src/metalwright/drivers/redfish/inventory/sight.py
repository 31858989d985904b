"""What the readers of an inventory share: the documents, the host among the systems, and the gaps they find."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from metalwright.drivers.redfish.documents import Documents, inner, link_of, links_of
from metalwright.drivers.redfish.host_system import choose_host
from metalwright.drivers.redfish.vendors import Vendor, vendor_of
from metalwright.model.hardware import Gap, PcieLink

Document = Mapping[str, Any]
ROOT = "/redfish/v1"


@dataclass(slots=True)
class Sight:
    """One sweep, ready to be read. `gaps` and `documents.warnings` grow while readers run."""

    documents: Documents
    vendor: Vendor
    root: Document
    systems: tuple[tuple[str, Document], ...]
    chassis: tuple[tuple[str, Document], ...]
    host_path: str | None
    gaps: list[Gap] = field(default_factory=list)

    @property
    def host(self) -> Document:
        return self.documents.get(self.host_path)

    def gap(self, what: str, why: str) -> None:
        """Mark something as not readable."""
        self.gaps.append(Gap(what=what, why=why))

    def members(self, collection: object, *parts: str) -> Iterator[tuple[str, Document]]:
        """Members of a referenced collection; what could not be read becomes a gap of each of `parts`."""
        path = link_of(collection)
        for unread, why in self.documents.unread(path):
            for part in parts:
                where = part if unread == path else f"{part}/{unread.rpartition('/')[2]}"
                self.gap(where, why)
        return self.documents.members(path)

    def linked(self, reference: object, part: str) -> tuple[str, Document]:
        """A referenced document with its path; a gap of `part` when it could not be read."""
        path = link_of(reference) or ""
        if path in self.documents.failed:
            self.gap(part, self.documents.failed[path])
        return path, self.documents.get(path)


def sight_of(documents: Documents, wanted_serial: str = "") -> Sight:
    """Find the host and the chassis of a sweep."""
    root = documents.get(ROOT)
    vendor = vendor_of(root)
    systems = tuple(documents.members(link_of(root.get("Systems"))))
    listed = dict(documents.members(link_of(root.get("Chassis"))))
    host_path = choose_host(systems, vendor, wanted_serial)
    for path in links_of(inner(documents.get(host_path), "Links").get("Chassis")):
        if path in documents.found:
            listed.setdefault(path, documents.found[path])
    return Sight(documents, vendor, root, systems, tuple(listed.items()), host_path)


def pcie_link(documents: Documents, interface: Document) -> PcieLink | None:
    """A PCIeInterface object; None when it says nothing."""
    link = PcieLink(
        generation=_generation(interface.get("PCIeType")),
        width=documents.whole(interface, "LanesInUse"),
        max_generation=_generation(interface.get("MaxPCIeType")),
        max_width=documents.whole(interface, "MaxLanes"),
    )
    return None if link == PcieLink() else link


def _generation(text: object) -> int | None:
    """`Gen5` → 5."""
    digits = text[3:] if isinstance(text, str) and text.startswith("Gen") else ""
    return int(digits) if digits.isdigit() and len(digits) < 3 else None
