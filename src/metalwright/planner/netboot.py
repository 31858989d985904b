"""What a machine boots when it asks: a pure function of the node, its grants and the time. The boot listener only renders it."""

from collections.abc import Sequence

from metalwright.model.boot import BootDecision, BootDisk, BootGrant, BootNothing, BootRam
from metalwright.model.ids import Instant
from metalwright.model.spec import NodeSpec


def decide_boot(node: NodeSpec | None, grants: Sequence[BootGrant], now: Instant) -> BootDecision:
    """The RAM disk while a grant for it is open and unclaimed; else the disk, if anything was ever installed; else nothing.

    A machine that asks without a grant was not started by us: it gets no token, whoever it is.
    """
    if node is None:
        return BootNothing(why="this MAC address is not in the site")
    latest = max((grant for grant in grants if grant.stage == "ram"), key=lambda grant: (grant.opens_at, grant.id), default=None)
    if latest is not None and not latest.revoked and latest.claimed_at is None and latest.opens_at <= now < latest.expires_at:
        return BootRam(grant=latest.id)
    if any(grant.stage == "installed" for grant in grants):
        return BootDisk()
    return BootNothing(why="no boot of this machine is ordered now")
