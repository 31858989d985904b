"""Where a new spec asks for less than the one in force: each such change needs a person's signed approval before it is adopted.

Depth is not among them: gates and proofs are the same at every depth. Neither are nodes that leave: the retire path judges those.
"""

from collections.abc import Iterator
from dataclasses import fields

from metalwright.model.spec import HardwareProfile, RetirePolicy, Role, StoredSpec

MEDIA = ("clear", "purge", "destroy")
"""Weakest first (NIST SP 800-88r2, section 3.1)."""
CEILINGS = frozenset({"max_watts"})
"""Numbers of a profile where more is looser; of all others less is."""
AUTHORITY = (Role.WAIVE, Role.DECLARE_LIVE, Role.OWN_DATA)


def weakenings(old: StoredSpec, new: StoredSpec) -> tuple[str, ...]:
    """One sentence per change that loosens a check or widens who may decide; empty for a spec that asks for as much or more."""
    return (*_roles(old, new), *_profiles(old, new), *_firmware(old, new), *_acceptance(old, new), *_retirement(old, new))


def _roles(old: StoredSpec, new: StoredSpec) -> Iterator[str]:
    for role in AUTHORITY:
        had = old.spec.responsible.get(role, ())
        for person in new.spec.responsible.get(role, ()):
            if person not in had:
                yield f"{person} gets the role {role}"


def _profiles(old: StoredSpec, new: StoredSpec) -> Iterator[str]:
    for name, was in old.profiles.items():
        if (now := new.profiles.get(name)) is not None and was.name == now.name:
            yield from (f"profile {name}: {change}" for change in _looser(was, now))
    moved = {node.serial: node.profile for node in old.spec.nodes}
    for node in new.spec.nodes:
        before, after = old.profiles.get(moved.get(node.serial, "")), new.profiles[node.profile]
        if before is not None and (before.name != after.name or moved[node.serial] != node.profile):
            yield from (f"{node.name} by another profile: {change}" for change in _looser(before, after))


def _looser(was: HardwareProfile, now: HardwareProfile) -> Iterator[str]:
    for field in fields(HardwareProfile):
        before, after = getattr(was, field.name), getattr(now, field.name)
        if field.name == "version" or isinstance(before, bool) or not isinstance(before, int | float):
            continue
        if after > before if field.name in CEILINGS else after < before:
            yield f"{field.name} {before} → {after}"


def _firmware(old: StoredSpec, new: StoredSpec) -> Iterator[str]:
    wanted = {(line.profile, line.component) for line in new.spec.firmware}
    for line in old.spec.firmware:
        if (line.profile, line.component) not in wanted and line.profile in new.spec.profiles:
            yield f"the firmware baseline no longer names {line.component} of {line.profile}"


def _acceptance(old: StoredSpec, new: StoredSpec) -> Iterator[str]:
    was, now = old.spec.acceptance, new.spec.acceptance
    if was is not None and now is None:
        yield "no acceptance list any more"
        return
    if now is None:
        return
    if was is not None and now.soak < was.soak:
        yield f"acceptance: soak {was.soak} s → {now.soak} s"
    for check in now.waived_in_plan:
        if was is not None and check not in was.waived_in_plan:
            yield f"acceptance: {check} waived in the plan"


def _retirement(old: StoredSpec, new: StoredSpec) -> Iterator[str]:
    was, now = old.spec.retire, new.spec.retire
    if was is not None and now is None:
        yield "no retire path any more"
    elif was is not None and now is not None:
        yield from _data(was, now)


def _data(was: RetirePolicy, now: RetirePolicy) -> Iterator[str]:
    if MEDIA.index(now.media) < MEDIA.index(was.media):
        yield f"retire: media {was.media} → {now.media}"
    kept = {each.where: each.then for each in now.data}
    for each in was.data:
        if each.then == "destroy" and kept.get(each.where) != "destroy":
            yield f"retire: {each.where} is no longer destroyed"
