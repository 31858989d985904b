"""Cables as they were seen: which port leads to which, at what rate, by whose word. And what differs from the plan."""

from dataclasses import dataclass
from enum import StrEnum

UNNAMED = "adapter 0x"
"""How the name of a device begins that says no name of its own: its GUID follows."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class End:
    """One port of one device, in lower case: `leaf01` port `17`, `node01` port `mlx5_0`."""

    device: str
    port: str

    def __str__(self) -> str:
        return f"{self.device} port {self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLink:
    """What one end says: it leads to `far`. None where a port is up and its far end is unknown."""

    near: End
    far: End | None
    rate_gbps: float | None = None
    """Of the whole port; None where the source does not say."""
    lanes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSight:
    """What one file says. `spoke`: devices whose own ports it lists, so that a port missing there is a port without a link."""

    format: str
    links: tuple[SeenLink, ...]
    spoke: frozenset[str]
    unread: tuple[str, ...] = ()
    """Lines that look like links and could not be read."""


class CableFault(StrEnum):
    """What one physical fault is."""

    MISSING = "missing"
    WRONG_PORT = "wrong-port"
    SWAPPED = "swapped"
    UNEXPECTED = "unexpected"
    SLOW = "slow"
    ONE_SIDED = "one-sided"
    UNNAMED = "unnamed"
    """The far end says no name: whose it is cannot be told. Undetermined."""
    UNHEARD = "unheard"
    """Neither end spoke: nothing is known of the cable. Undetermined, never a pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CableFinding:
    """One physical fault: the cables it concerns by label (none for an unplanned link), what is wrong, and the move that mends it."""

    fault: CableFault
    labels: tuple[str, ...]
    fabric: str
    expected: str
    seen: str
    do: str
    where: End
    """The end to walk to first."""
