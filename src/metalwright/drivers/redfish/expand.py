"""`$expand`, used only where it was seen to tell the truth.

Some BMCs drop required fields in expanded members (AMI on DGX H100 and GB300), others take no such query (Q49). So for each
firmware and each kind of collection one expanded member is compared with its own GET; only then are expanded members believed.
The result is shared by all BMCs of a factory: a thousand equal machines are checked once.
"""

from collections.abc import Mapping
from typing import Any

from metalwright.drivers.redfish.documents import inner

Document = Mapping[str, Any]
_CHANGES_BY_ITSELF = ("Status", "LastResetTime", "DateTime", "DateTimeLocalOffset", "Oem")
_MIN_KEYS = 3


class ExpandTrust:
    """What was learned: (firmware, route) → whether expanded members are whole."""

    def __init__(self) -> None:
        self._learned: dict[tuple[str, str], bool] = {}

    def is_trusted(self, firmware: str, route: str) -> bool | None:
        """None until one member was compared."""
        return self._learned.get((firmware, route))

    def learn(self, firmware: str, route: str, is_whole: bool) -> None:
        """A single lie is enough to distrust; trust never comes back within this process."""
        known = self._learned.get((firmware, route))
        self._learned[(firmware, route)] = is_whole and known is not False


def expand_query(root: Document) -> str | None:
    """The query this BMC says it takes for one level, or None."""
    features = inner(root, "ProtocolFeaturesSupported", "ExpandQuery")
    if features.get("Levels") is True and features.get("NoLinks") is True:
        return "?$expand=.($levels=1)"
    return "?$expand=." if features.get("NoLinks") is True else None


def firmware_key(root: Document, manager: Document) -> str:
    """What must be equal for two BMCs to run the same service; empty when the manager shows no firmware version."""
    if not manager.get("FirmwareVersion"):
        return ""
    parts = (root.get("Vendor"), root.get("Product"), root.get("RedfishVersion"), manager.get("Model"), manager.get("FirmwareVersion"))
    return "|".join(str(part) for part in parts)


def is_expanded(member: Document) -> bool:
    """More than a reference."""
    return len(member) >= _MIN_KEYS and "error" not in member


def is_whole(expanded: Document, alone: Document) -> bool:
    """Every property of the member's own GET is in the expanded one, with the same value unless it changes by itself."""
    wanted = {name: value for name, value in alone.items() if name not in ("@odata.context", "@odata.etag")}
    return all(name in expanded and (name in _CHANGES_BY_ITSELF or _is_same(expanded[name], value)) for name, value in wanted.items())


def _is_same(left: object, right: object) -> bool:
    """Numbers may move between two reads; their presence and kind may not."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return True
    return left == right
