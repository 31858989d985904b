"""Kernel events → one verdict per GPU or switch: the driver's own word first, the table second, repetition over boots last."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from metalwright.codec.events import event_table
from metalwright.gates.limits import limit
from metalwright.model.event_table import GpuVerdict, NvLinkRule
from metalwright.model.kernel_log import KernelEvent, KernelLog, Trouble

ACTION_TO = re.compile(r"recovery action changed from .{0,60}? to 0x[0-9a-f]+ \(([^)]{1,60})\)", re.I)
LINK_EVENT = re.compile(r"^(\w+)\s+(Nonfatal|Fatal)?.{0,30}?Link\s*\d+\s*[(\[](0x[0-9a-f]{1,8})(?:\s+(0x[0-9a-f]{1,8}))?", re.I)
NVLINK5 = range(144, 151)
RECOVERY = 154
POWER_SMOOTHING_OFF, POWER_SMOOTHING_ON = 163, 162
SHADER_FAULTS = (13, 31)
BY_KIND = {Trouble.FALLEN_OFF: GpuVerdict.REBOOT, Trouble.AMD: GpuVerdict.RESET}
"""Events without a code. AMD: amdgpu says that the block is bad or that it resets the GPU by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartVerdict:
    """`verdict` None: an event that nobody knows. `because` names the event that decided, `by` whose word it is."""

    part: str
    verdict: GpuVerdict | None
    because: str
    by: str


def verdicts(log: KernelLog) -> tuple[PartVerdict, ...]:
    """One per GPU and switch that any event names. Events of earlier boots count only when they came again."""
    parts: dict[str, list[KernelEvent]] = defaultdict(list)
    for event in log.events:
        if event.kind in (Trouble.XID, Trouble.SXID, Trouble.FALLEN_OFF, Trouble.AMD):
            parts[event.part].append(event)
    return tuple(_part(part, events, log.boots - 1) for part, events in parts.items())


def _part(part: str, events: list[KernelEvent], last_boot: int) -> PartVerdict:
    now = [event for event in events if event.boot == last_boot]
    if not now:
        old = events[-1]
        return PartVerdict(part=part, verdict=GpuVerdict.KEEP, because=f"{_name(old)} before the last start", by="a start since")
    own = [event for event in now if event.kind is Trouble.XID and event.code == RECOVERY]
    if own:
        asked = max(own, key=lambda event: event.line)
        decided = PartVerdict(part=part, verdict=_own_word(asked), because=asked.text[:160], by="the driver")
        unheard = [event for event in now if event.line > asked.line and event.code != RECOVERY]
        return _heavier(decided, _by_table(part, unheard)) if unheard else _repeated(decided, events, last_boot)
    return _repeated(_by_table(part, now), events, last_boot)


def _own_word(event: KernelEvent) -> GpuVerdict | None:
    """The driver's last word; a later None takes an earlier action back."""
    match = ACTION_TO.search(event.text)
    words = match.group(1).lower() if match else ""
    fits = [entry for entry in event_table().recovery if entry.words in words]
    return max(fits, key=lambda entry: len(entry.words)).verdict if fits else None


def _by_table(part: str, events: Iterable[KernelEvent]) -> PartVerdict:
    judged = [(_verdict(event), event) for event in _not_cancelled(list(events))]
    unknown = [event for verdict, event in judged if verdict is None]
    known = [(verdict, event) for verdict, event in judged if verdict is not None]
    worst = max(known, key=lambda pair: pair[0].weight, default=None)
    if worst is not None and (worst[0] is not GpuVerdict.KEEP or not unknown):
        return PartVerdict(part=part, verdict=worst[0], because=_told(worst[1]), by=f"event table {event_table().version}")
    if unknown:
        return PartVerdict(part=part, verdict=None, because=_told(unknown[0]), by="nobody")
    return PartVerdict(part=part, verdict=GpuVerdict.KEEP, because="events that were taken back", by="the driver")


def _verdict(event: KernelEvent) -> GpuVerdict | None:
    if event.kind in BY_KIND:
        return BY_KIND[event.kind]
    if event.kind is Trouble.XID and event.code in NVLINK5:
        return _nvlink(event)
    if event.kind is Trouble.XID and event.code in SHADER_FAULTS and "TPC" in event.text and event.count >= limit("xid.same-tpc").value:
        return GpuVerdict.DRAIN_AFTER_JOB  # the same unit again and again is hardware, whatever the application
    group = event_table().group_of(event.kind, event.code)
    if group is None:
        return None
    if event.kind is Trouble.SXID and event.text.lower().startswith("fatal") and group.verdict is GpuVerdict.KEEP:
        return GpuVerdict.DRAIN_NOW  # the driver's own word against the table's
    return group.verdict


def _nvlink(event: KernelEvent) -> GpuVerdict | None:
    """By unit and status bits. A rule that defers to XID 154 has been answered by its absence: the driver asked for nothing."""
    match = LINK_EVENT.search(event.text)
    rules = [rule for rule in event_table().nvlink if match and rule.xid == event.code and match.group(1).upper().startswith(rule.unit)]
    if match is None:
        return None
    if not rules:
        return GpuVerdict.RESET if (match.group(2) or "").lower() == "fatal" else None
    return GpuVerdict.KEEP if _is_harmless(rules[0], int(match.group(3), 16), match.group(4)) else GpuVerdict.RESET


def _is_harmless(rule: NvLinkRule, information: int, status_text: str | None) -> bool:
    if rule.harmless_down:
        return (information >> 20) & 0x3F in rule.harmless_down
    if status_text is None:
        return False
    status, fine = int(status_text, 16), (*rule.harmless, *rule.deferred)
    return status in fine or (status != 0 and all(bit in fine for bit in (1 << n for n in range(32)) if status & bit))


def _not_cancelled(events: list[KernelEvent]) -> list[KernelEvent]:
    """163 (power smoothing off) followed by 162 (on again) is over."""
    back = max((event.line for event in events if event.code == POWER_SMOOTHING_ON), default=0)
    return [event for event in events if not (event.code == POWER_SMOOTHING_OFF and event.line < back)]


def _repeated(decided: PartVerdict, events: list[KernelEvent], last_boot: int) -> PartVerdict:
    """What a reset or a reboot did not cure is hardware: a GPU off the bus is reseated, anything else goes back."""
    if decided.verdict not in (GpuVerdict.RESET, GpuVerdict.REBOOT):
        return decided
    now = [event for event in events if event.boot == last_boot]
    codes = {event.code for event in now if (_verdict(event) or GpuVerdict.KEEP).weight >= GpuVerdict.RESET.weight}
    before = [event for event in events if event.boot < last_boot and event.code in codes]
    if not before:
        return decided
    verdict = GpuVerdict.RESEAT if decided.verdict is GpuVerdict.REBOOT else GpuVerdict.RMA
    because = f"{decided.because}; and before the last start too"
    return PartVerdict(part=decided.part, verdict=verdict, because=because, by=f"{decided.by}, repeated")


def _heavier(one: PartVerdict, other: PartVerdict) -> PartVerdict:
    if one.verdict is None or other.verdict is None:
        return one if other.verdict is not None and one.verdict is None and other.verdict is GpuVerdict.KEEP else other
    return one if one.verdict.weight >= other.verdict.weight else other


def _name(event: KernelEvent) -> str:
    return f"{event.kind.value.upper()} {event.code}" if event.code else event.kind.value


def _told(event: KernelEvent) -> str:
    times = f" ×{event.count}" if event.count > 1 else ""
    group = event_table().group_of(event.kind, event.code)
    return f"{_name(event)}{times} in line {event.line}: {event.text[:120]}" + (f" ({group.why})" if group else "")
