"""The registry as a document: `docs/checks.md` is what `render` returns, and a test compares the two."""

from metalwright.codec.thresholds import library
from metalwright.gates.check import Check, Sight, SiteCheck
from metalwright.gates.freshness import WHAT, WHO
from metalwright.gates.readings.registry import READING_CHECKS
from metalwright.gates.registry import ALL_CHECKS
from metalwright.model.judgement import Gate
from metalwright.model.observation import Witness

HEAD = """# Checks

Generated from the registry (`metalwright.gates.table.render`); do not edit. A gate is green only when every check below it
passes or is not applicable. A look that is missing, failed, too old, from before the present boot, or with a gap in what a check
reads makes it *undetermined*, which never passes.
"""

READINGS = """## Tool output

What `metalwright judge FILE` judges: output of the tools on a node. Numbers of a platform are in `data/accelerators.toml`. A fact that
cannot be read makes its check *undetermined*; a check that nothing in the files can answer is *not in this file*.
"""


def render() -> str:
    """Markdown: one table per gate, then the thresholds."""
    gates: dict[Gate, list[Check | SiteCheck]] = {}
    for check in ALL_CHECKS:
        gates.setdefault(check.gate, []).append(check)
    parts = [HEAD, *(_gate(gate, checks) for gate, checks in gates.items()), _readings(), _thresholds()]
    return "\n".join(parts)


def _gate(gate: Gate, checks: list[Check | SiteCheck]) -> str:
    rows = [_row(check) for check in checks]
    return "\n".join((f"## Gate `{gate}`", "", "| check | rule | rests on | numbers | source |", "|---|---|---|---|---|", *rows, ""))


def _readings() -> str:
    rows = []
    for check in READING_CHECKS:
        numbers = ", ".join([*(f"platform `{name}`" for name in check.profile), *(f"`{name}`" for name in check.thresholds)])
        rows.append(f"| `{check.id}` v{check.version} | {check.rule} | `{check.reads.__name__}` | {numbers} | {check.source} |")
    return "\n".join((READINGS, "| check | rule | reads | numbers | source |", "|---|---|---|---|---|", *rows, ""))


def _row(check: Check | SiteCheck) -> str:
    sights = "; ".join(_sight(sight) for sight in check.sights) if isinstance(check, Check) else "the spec"
    profile = [f"profile `{name}`" for name in check.profile] if isinstance(check, Check) else []
    numbers = ", ".join([*profile, *(f"`{name}`" for name in check.thresholds)])
    return f"| `{check.id}` v{check.version} | {check.rule} | {sights} | {numbers} | {check.source} |"


def _sight(sight: Sight) -> str:
    is_agent = set(sight.witnesses) == {Witness.RAM_DISK, Witness.RUNNING_SYSTEM}
    who = "the newest agent" if is_agent else " or ".join(WHO[witness] for witness in sight.witnesses)
    notes = [] if sight.max_age_s == float("inf") else [f"≤ {_age(sight.max_age_s)}"]
    notes += ["of the present boot"] if sight.since_boot else []
    notes += ["powered on"] if sight.powered else []
    notes += ["if there is one"] if sight.optional else []
    return f"{WHAT[sight.kind]} by {who}" + (f" ({', '.join(notes)})" if notes else "")


def _age(seconds: float) -> str:
    if seconds % 86400 == 0:
        return f"{seconds / 86400:.0f} d"
    return f"{seconds / 3600:.0f} h" if seconds % 3600 == 0 else f"{seconds / 60:.0f} min"


def _thresholds() -> str:
    rows = [
        f"| `{found.name}` | {found.value} {found.unit} | {found.why} | {found.source} | {found.date} |"
        for found in sorted(library().values(), key=lambda found: found.name)
    ]
    head = ("## Thresholds", "", "Numbers of `data/thresholds.yaml`; numbers of a platform are in its hardware profile.", "")
    return "\n".join((*head, "| name | value | what breaks with another | source | date |", "|---|---|---|---|---|", *rows, ""))
