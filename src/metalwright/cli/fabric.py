"""`metalwright fabric diff --plan cables.csv --seen FILE…`: the cable plan against what was seen. No site needed."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalwright.gates.cabling import Compared
    from metalwright.model.cabling import End, LinkSight

EPILOG = """FILE is what ibnetdiscover printed (with or without -p), or lldpcli show neighbors -f json0 of one device:
DEVICE=FILE, or a file named after it (leaf01.json). --ports translates what hosts call their ports: mlx5_{}=nic{} reads mlx5_3
as the nic3 of the plan."""


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("fabric", help="the cable plan against what was seen, link by link")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    diff = actions.add_parser("diff", help="on files alone: one line per physical fault, and the move that mends it", epilog=EPILOG)
    diff.add_argument("--plan", type=Path, required=True, metavar="CSV", help="label, a_device, a_port, b_device, b_port, fabric")
    diff.add_argument("--seen", required=True, action="append", nargs="+", metavar="[DEVICE=]FILE", help="what was seen; several")
    diff.add_argument("--fabric", action="append", default=[], metavar="NAME", help="only cables of this fabric; may be given again")
    diff.add_argument("--rate", action="append", default=[], metavar="FABRIC=GBPS", help="what a port should run at (default: as most do)")
    diff.add_argument("--ports", action="append", default=[], metavar="SEEN=PLANNED", help="how seen ports are called in the plan")
    diff.add_argument("--json", action="store_true")
    diff.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 as planned, 1 a fault, 2 something was not heard or read, 3 bad input."""
    from metalwright.cli.output import print_json
    from metalwright.cli.verdicts import exit_code
    from metalwright.codec.cable_plan import read_cable_plan
    from metalwright.gates.cabling import compare
    from metalwright.model.errors import InputError

    plan = read_cable_plan(args.plan)
    fabrics = {cable.fabric for cable in plan}
    for wanted in args.fabric:
        if wanted not in fabrics:
            raise InputError(f"no cable of fabric {wanted} in {args.plan}", hint=f"it has {', '.join(sorted(fabrics))}")
    chosen = [cable for cable in plan if not args.fabric or cable.fabric in args.fabric]
    sights = [_renamed(_sight(given), [_pattern(words) for words in args.ports]) for group in args.seen for given in group]
    compared = compare(chosen, sights, dict(_rate(words, fabrics) for words in args.rate))
    print_json(_as_json(compared)) if args.json else _say(compared)
    return exit_code([compared.colour])


def _sight(given: str) -> "LinkSight":
    from metalwright.model.errors import InputError
    from metalwright.model.reading import Unreadable
    from metalwright.readers import ibnetdiscover, lldp
    from metalwright.readers.words import MAX_BYTES, decoded

    device, _, name = given.rpartition("=") if "=" in given and not Path(given).exists() else ("", "", given)
    try:
        with Path(name).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{name} cannot be read: {error.strerror}", hint="name files with the output of ibnetdiscover or lldpcli"
        ) from error
    if len(raw) > MAX_BYTES:
        raise InputError(f"{name} is larger than {MAX_BYTES // 1024 // 1024} MiB", hint="split it by device")
    is_lldp = lldp.looks_like(decoded(raw))
    found = lldp.read(raw, device or Path(name).name.partition(".")[0]) if is_lldp else ibnetdiscover.read(raw)
    if isinstance(found, Unreadable):
        raise InputError(f"{name}: {found.reason}", hint="metalwright fabric diff --help names the formats")
    return found


def _pattern(words: str) -> tuple[re.Pattern[str], str]:
    from metalwright.model.errors import InputError

    seen, _, planned = words.lower().partition("=")
    if not seen or not planned or seen.count("{}") > 1 or planned.count("{}") != seen.count("{}"):
        raise InputError(f"--ports {words} is not SEEN=PLANNED", hint="mlx5_{}=nic{} reads mlx5_3 as nic3")
    before, _, after = seen.partition("{}")
    middle = r"(\w+)" if "{}" in seen else "()"
    return re.compile(re.escape(before) + middle + re.escape(after)), planned


def _renamed(sight: "LinkSight", patterns: Sequence[tuple[re.Pattern[str], str]]) -> "LinkSight":
    def end(one: "End") -> "End":
        for pattern, planned in patterns:
            if found := pattern.fullmatch(one.port):
                return replace(one, port=planned.replace("{}", found[1]))
        return one

    links = tuple(replace(link, near=end(link.near), far=end(link.far) if link.far else None) for link in sight.links)
    return replace(sight, links=links) if patterns else sight


def _rate(words: str, fabrics: set[str]) -> tuple[str, float]:
    from metalwright.model.errors import InputError

    fabric, _, rate = words.rpartition("=")
    try:
        gbps = float(rate)
    except ValueError:
        gbps = 0.0
    if fabric not in fabrics or not 0 < gbps < 1e6:
        raise InputError(f"--rate {words} is not FABRIC=GBPS", hint=f"--rate {min(fabrics, default='compute')}=400")
    return fabric, gbps


def _say(compared: "Compared") -> None:
    from metalwright.cli.output import COLOURS, console, table

    out = console()
    colour = compared.colour
    out.print(
        f"{compared.planned} cables planned · {compared.seen} links seen · {compared.matched} where the plan has them · "
        f"[{COLOURS.get(colour, 'dim')}]{colour.upper()}[/]"
    )
    rows = [[str(each.where), each.fault, _labels(each.labels), each.seen, each.do] for each in compared.findings]
    if rows:
        out.print(table(["go to", "fault", "cable", "seen", "do"], rows))
    for line in compared.unread:
        out.print(f"not read: {line}", style="yellow", markup=False)


def _labels(labels: Sequence[str]) -> str:
    return ", ".join(labels[:3]) + (" …" if len(labels) > 3 else "")


def _as_json(compared: "Compared") -> dict[str, Any]:
    return {
        "verdict": compared.colour,
        "planned": compared.planned,
        "seen": compared.seen,
        "matched": compared.matched,
        "findings": [
            {
                "fault": finding.fault,
                "cables": list(finding.labels),
                "fabric": finding.fabric or None,
                "where": {"device": finding.where.device, "port": finding.where.port},
                "expected": finding.expected,
                "seen": finding.seen,
                "do": finding.do,
            }
            for finding in compared.findings
        ],
        "not_read": list(compared.unread),
    }
