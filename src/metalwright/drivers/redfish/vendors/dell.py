"""Dell iDRAC. Source: recorded iDRAC 9 tree (PowerEdge R750, firmware 6.00.30.00)."""

from metalwright.drivers.redfish.vendors.base import Document, Vendor, text_of


class Dell(Vendor):
    """The service tag is the serial of the label; `SerialNumber` is the board's. Firmware ids hold their version."""

    name = "dell"

    def system_serial(self, system: Document) -> str | None:
        return text_of(system.get("SKU")) or text_of(system.get("SerialNumber"))

    def board_serial(self, system: Document, chassis: Document) -> str | None:
        return text_of(system.get("SerialNumber"))

    def firmware_component(self, identifier: str, document: Document) -> str | None:
        """`Installed-108076-00.2A.2B__PSU.Slot.2` → `PSU.Slot.2`; `Previous-…` and `Available-…` are not what runs."""
        state, _, _ = identifier.partition("-")
        if state in ("Previous", "Available"):
            return None
        _, mark, component = identifier.partition("__")
        return component if mark else identifier


DELL = Dell()
