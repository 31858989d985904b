"""Network boots: what a machine may boot now, and the once-only token it may claim."""

from dataclasses import dataclass
from typing import Literal

from metalwright.model.ids import Instant, NodeName, OrderNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class BootGrant:
    """The right of one boot to become one agent. Only the token's hash is stored; the token is derived when it is served.

    `opens_at` is our own power-on: before it, and after `expires_at`, the token is refused. A second claim revokes both.
    """

    id: str
    """`<order>/<step index>/<attempt>`."""
    node: NodeName
    order: OrderNumber
    stage: str
    """`ram` or `installed`."""
    token_hash: str
    opens_at: Instant
    expires_at: Instant
    claimed_at: Instant | None = None
    boot_id: str | None = None
    session_hash: str | None = None
    system_serial: str | None = None
    uuid: str | None = None
    last_contact_at: Instant | None = None
    kernel: str | None = None
    agent_version: str | None = None
    conflicts: int = 0
    revoked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BootRam:
    """Serve the RAM disk with this grant's token."""

    grant: str
    kind: Literal["ram"] = "ram"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootDisk:
    """Tell iPXE to leave: the firmware goes on to the disk."""

    kind: Literal["disk"] = "disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootNothing:
    """An unknown or unexpected machine: serve a script that says so and stops."""

    why: str
    kind: Literal["nothing"] = "nothing"


BootDecision = BootRam | BootDisk | BootNothing
