"""One BMC at the moment of one request: its state, its machine, its faults, and who is asking."""

from collections.abc import Callable
from dataclasses import dataclass

from metalwright.ports import Machine
from metalwright.simulator.redfish.bmc import BmcState
from metalwright.simulator.redfish.documents import Document


@dataclass(slots=True)
class FaceFaults:
    """How this BMC misbehaves. Changed live by `faults`; each field off means a well-behaved BMC."""

    mute: bool = False
    """Takes connections and requests, never answers."""
    slow_s: float = 0.0
    """Seconds added before every answer."""
    forget_sessions: bool = False
    """Forgets every session at each reset of the host: clients get 401 and must log in again."""
    power_lies: bool = False
    """Accepts resets and does nothing."""
    hostile: str = ""
    """One of `hostile.WAYS`."""
    console: str = ""
    """`off`, `silent` (listed, nobody answers) or `unlogged`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a write handler works with."""

    bmc: BmcState
    machine: Machine
    faults: FaceFaults
    user: str
    render: Callable[[str], Document | None]
    now: Callable[[], float]
