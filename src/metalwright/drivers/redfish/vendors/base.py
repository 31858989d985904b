"""What vendors do differently in an inventory. The defaults are what the standard says."""

from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.documents import inner, text_of

Document = Mapping[str, Any]


class Vendor:
    """A BMC that follows the standard."""

    name = "standard"

    def system_serial(self, system: Document) -> str | None:
        """The serial on the label, which DMI shows as the system serial."""
        return text_of(system.get("SerialNumber"))

    def board_serial(self, system: Document, chassis: Document) -> str | None:
        """The main board's serial."""
        return None

    def gpu_position(self, pcie_device: Document) -> int | None:
        """Position of a GPU that the BMC shows as a PCIe device only; None when the device is no GPU."""
        return None

    def firmware_component(self, identifier: str, document: Document) -> str | None:
        """A name of the component that stays when its version changes; None for entries that are not installed."""
        return identifier


__all__ = ["Document", "Vendor", "inner", "text_of"]
