"""Explains a check: rule, numbers with their sources and overrides; and on a node, what was seen, by whom, and what to do.

Input of `metalwright explain CHECK [--on SUBJECT]`. Pure, as judging is.
"""

from dataclasses import dataclass
from difflib import get_close_matches

from metalwright.gates.check import Check, Sight, SiteCheck
from metalwright.gates.freshness import WHAT, WHO, Blocked, usable_look
from metalwright.gates.judge import judge_check
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import PLATFORM, ReadingCheck
from metalwright.gates.readings.registry import READING_CHECKS, find_reading_check
from metalwright.gates.registry import ALL_CHECKS, find_check
from metalwright.model.case import NodeCase, SiteCase
from metalwright.model.errors import InputError
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Finding, Gate
from metalwright.model.spec import ProfileSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number that a check compares with. `trail`: who changed it and where, empty when nobody did."""

    name: str
    value: str
    unit: str
    source: str
    trail: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything there is to say about one check; the last two are empty without a case."""

    check: CheckId
    gate: Gate
    version: int
    title: str
    rule: str
    source: str
    numbers: tuple[Number, ...] = ()
    witnesses: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def explain(check_id: str, case: NodeCase | SiteCase | None = None) -> Explanation:
    """InputError when there is no such check, or when it is not one of this case's kind."""
    check = find_check(check_id)
    reading = find_reading_check(check_id)
    if reading is not None and case is None:
        return _of_reading(reading)
    if check is None:
        raise InputError(f"there is no check {check_id}", hint=_nearest(check_id))
    if case is not None and isinstance(check, Check) is not isinstance(case, NodeCase):
        raise InputError(
            f"{check_id} is a check of {'a node' if isinstance(check, Check) else 'the site'}", hint="name such a subject after --on"
        )
    return Explanation(
        check=check.id,
        gate=check.gate,
        version=check.version,
        title=check.title,
        rule=check.rule,
        source=check.source,
        numbers=(*_profile_numbers(check, case), *(_threshold(name) for name in check.thresholds)),
        witnesses=tuple(_witness(case, sight) for sight in check.sights) if isinstance(check, Check) else (),
        findings=judge_check(case, check) if case is not None else (),
    )


def _of_reading(check: ReadingCheck) -> Explanation:
    """A check over tool output: `metalwright judge` shows what was seen."""
    profile = [Number(name=name, value="as in the platform", unit="", source=PLATFORM) for name in check.profile]
    return Explanation(
        check=check.id,
        gate=check.gate,
        version=check.version,
        title=check.title,
        rule=check.rule,
        source=check.source,
        numbers=(*profile, *(_threshold(name) for name in check.thresholds)),
        witnesses=((check.reads.__doc__ or "").partition("\n")[0],),
    )


def as_text(told: Explanation) -> str:
    """The explanation as `metalwright explain` prints it."""
    rows = [("check", f"{told.check} v{told.version}: {told.title}"), ("gate", told.gate), ("rule", told.rule), ("source", told.source)]
    rows += [("number", _number_text(number)) for number in told.numbers]
    rows += [("witness", witness) for witness in told.witnesses]
    for finding in told.findings:
        rows += [("result", f"{finding.result} on {finding.subject}"), ("expected", finding.expected), ("seen", finding.seen)]
        rows += [("reason", finding.reason), ("do", finding.do)]
    return "\n".join(f"{name:<10}{text}" for name, text in rows if text)


def _number_text(number: Number) -> str:
    trail = f"; {number.trail}" if number.trail else ""
    return f"{number.name} = {number.value} {number.unit}".rstrip() + f" ({number.source}{trail})"


def _threshold(name: str) -> Number:
    found = limit(name)
    return Number(name=name, value=str(found.value), unit=found.unit, source=f"{found.source}, {found.date}", why=found.why)


def _profile_numbers(check: Check | SiteCheck, case: NodeCase | SiteCase | None) -> list[Number]:
    """Numbers of the node's profile; without a node only their names are known."""
    if not isinstance(check, Check):
        return []
    if not isinstance(case, NodeCase):
        return [Number(name=name, value="as in the profile", unit="", source="data/profiles.yaml") for name in check.profile]
    profile, spec = case.profile, case.spec.profiles.get(case.node.profile)
    changed = _set_by_the_site(spec) if spec else frozenset()
    source = f"profile {profile.name} v{profile.version}: {profile.source}, {profile.date}"
    return [
        Number(
            name=name,
            value=f"{getattr(profile, name)}",
            unit="",
            source=source,
            trail=f"set by this site: profiles.{case.node.profile} in site.yaml" if name in changed else "",
        )
        for name in check.profile
    ]


def _set_by_the_site(spec: ProfileSpec) -> frozenset[str]:
    """Profile numbers that the site's own files give."""
    given = {
        "cpus": spec.cpus,
        "memory_gib": spec.memory_gib,
        "gpus": spec.gpus,
        "gpu_pcie_generation": spec.host_pcie_generation,
        "nics": spec.nics,
        "nic_rate_gbps": spec.nics,
        "nvme": spec.nvme,
        "nvme_each_tb": spec.nvme,
    }
    return frozenset(name for name, value in given.items() if value is not None)


def _witness(case: NodeCase | SiteCase | None, sight: Sight) -> str:
    """Who is asked for what; on a node, when it was last seen or why it does not count."""
    who = " or ".join(WHO[witness] for witness in sight.witnesses)
    age = "" if sight.max_age_s == float("inf") else f", at most {sight.max_age_s:.0f} s old"
    asked = f"{who}: {WHAT[sight.kind]}{age}" + (", where there is one" if sight.optional else "")
    if not isinstance(case, NodeCase):
        return asked
    look = usable_look(case, sight)
    if isinstance(look, Blocked):
        return asked if sight.optional else f"{asked}: does not count: {look.reason}"
    return f"{asked}: seen by {WHO[look.witness]} {max(case.now - look.seen_at, 0):.0f} s ago"


def _nearest(name: str) -> str:
    ids = [check.id for check in (*ALL_CHECKS, *READING_CHECKS)]
    close = get_close_matches(name, ids, n=3, cutoff=0.4)
    return f"did you mean {', '.join(close)}?" if close else "metalwright gate list shows every check"
