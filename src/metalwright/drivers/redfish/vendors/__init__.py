"""Vendors' oddities: one small file each, holding the difference to `Vendor` only."""

from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.vendors.base import Vendor
from metalwright.drivers.redfish.vendors.dell import DELL
from metalwright.drivers.redfish.vendors.supermicro import SUPERMICRO

_BY_OEM_KEY = {"Dell": DELL, "Supermicro": SUPERMICRO}
PLAIN = Vendor()

__all__ = ["PLAIN", "Vendor", "vendor_of"]


def vendor_of(root: Mapping[str, Any]) -> Vendor:
    """Chosen by the Oem section of the service root, which each of these vendors fills."""
    oem = root.get("Oem")
    for key, vendor in _BY_OEM_KEY.items():
        if isinstance(oem, dict) and key in oem:
            return vendor
    return PLAIN
