"""Supermicro. Source: recorded tree of a SYS-821GE-TNHR (8 × H100, BMC firmware 11.01.01)."""

from metalwright.drivers.redfish.vendors.base import Document, Vendor, inner, text_of


class Supermicro(Vendor):
    """GPUs are PCIe devices with an Oem section, not processors; the board's serial is in the chassis' Oem section."""

    name = "supermicro"

    def board_serial(self, system: Document, chassis: Document) -> str | None:
        return text_of(inner(chassis, "Oem", "Supermicro").get("BoardSerialNumber"))

    def gpu_position(self, pcie_device: Document) -> int | None:
        oem = inner(pcie_device, "Oem", "Supermicro")
        slot = oem.get("GPUSlot")
        is_gpu = str(oem.get("@odata.type", "")).startswith("#SmcGPUExtensions.")
        return slot if is_gpu and isinstance(slot, int) and 0 <= slot < 1000 else None


SUPERMICRO = Supermicro()
