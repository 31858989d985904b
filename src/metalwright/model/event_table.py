"""The versioned table of kernel events: `data/events.toml`."""

from dataclasses import dataclass
from enum import StrEnum


class GpuVerdict(StrEnum):
    """What is to be done with a part, from the mildest on."""

    KEEP = "keep"
    DRAIN_AFTER_JOB = "drain-after-job"
    DRAIN_NOW = "drain-now"
    RESET = "reset"
    REBOOT = "reboot"
    RESEAT = "reseat"
    RMA = "rma"

    @property
    def weight(self) -> int:
        """Heavier verdicts win."""
        return list(GpuVerdict).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGroup:
    """Codes with one verdict."""

    kind: str
    verdict: GpuVerdict
    why: str
    source: str
    date: str
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryWords:
    """What the driver asks for, in its words."""

    words: str
    verdict: GpuVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLinkRule:
    """Of one unit of NVLink 5: error status bits that do no harm, and those that XID 154 decides."""

    xid: int
    unit: str
    harmless: tuple[int, ...] = ()
    deferred: tuple[int, ...] = ()
    harmless_down: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRule:
    """A fact of `GpuState` that is true, or a count above zero, and what it means."""

    fact: str
    verdict: GpuVerdict
    why: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTable:
    version: int
    group: tuple[EventGroup, ...]
    recovery: tuple[RecoveryWords, ...]
    nvlink: tuple[NvLinkRule, ...]
    state: tuple[StateRule, ...] = ()

    def group_of(self, kind: str, code: int) -> EventGroup | None:
        """The group of a code; None for an unknown one."""
        return next((group for group in self.group if group.kind == kind and code in group.codes), None)
