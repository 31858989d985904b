"""What `node inspect` shows to people: the machine in one line, what stands out (`inspect_notes`), its parts, the NVLink matrix."""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from metalwright.cli.inspect_notes import counted, families, natural, pcie_words
from metalwright.cli.output import Answer

Json = dict[str, Any]
_FILE_WIDTH = 200
"""Columns when the output is no terminal: wide enough that no serial is broken over two lines."""
_SHOWN_GAPS = 12
_TABLES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CPUs", "cpus", ("socket", "model", "cores", "serial")),
    ("GPUs", "gpus", ("index", "name", "model", "serial", "memory", "PCIe", "health")),
    ("NVSwitches", "nvswitches", ("index", "name", "model", "serial")),
    ("NICs", "nics", ("name", "model", "serial", "macs", "rate", "PCIe")),
    ("Drives", "drives", ("name", "model", "serial", "size", "slot")),
    ("Power supplies", "power_supplies", ("name", "serial", "watts", "health")),
)


def print_report(report: Json) -> None:
    """The report of `inspect_bmc`, for a terminal or a file."""
    width = None if sys.stdout.isatty() else _FILE_WIDTH
    console = Answer(file=sys.stdout, highlight=False, markup=False, width=width)
    for line in _heads(report):
        console.print(_text(line))
    notes = report["stands_out"]
    if notes:
        console.print(f"\nStands out ({len(notes)})")
        for note in notes[:_SHOWN_GAPS]:
            console.print(_text(f"  ! {note}"))
        if len(notes) > _SHOWN_GAPS:
            console.print(f"  and {len(notes) - _SHOWN_GAPS} more: see --json")
    for title, name, columns in _TABLES:
        _print_table(console, title, sorted(map(_readable, report[name]), key=_natural_order), columns)
        if name == "nvswitches":
            _print_nvlinks(console, report["nvlink_edges"])
    _print_table(console, "Firmware", _grouped(report["firmware"]), ("component", "version"), len(report["firmware"]))
    _print_gaps(console, report["gaps"])
    bmc = report["bmc"]
    console.print(f"\n{bmc['requests']} requests in {bmc['seconds']} s, {report['lenient_readings']} lenient readings")


def _heads(report: Json) -> Iterator[str]:
    """Who it is, what is in it, how it is reached."""
    identity, bmc = report["identity"], report["bmc"]
    yield f"{_words(identity['manufacturer'], identity['model'])}, serial {identity['system_serial'] or 'not shown'}"
    yield ", ".join(_contents(report)) or "no parts shown"
    managers = ", ".join(f"{each['name']} {each['firmware'] or '?'}" for each in bmc["managers"])
    yield f"BMC {_words(bmc['vendor'], bmc['product'])}, Redfish {bmc['redfish_version'] or '?'}, {managers or 'no manager shown'}"
    ways = [f"{name} port {way['port']}" for name, way in report["console"].items() if way is not None]
    boot = report["boot"]
    override = f", next boot from {boot['target']}{'' if boot['once'] else ' (always)'}" if boot["target"] != "none" else ""
    firmware = f"BIOS {report['bios_version'] or 'not shown'}, TPM {report['tpm'] or 'not shown'}"
    yield f"power {report['power']}{override}, {firmware}, console {', '.join(ways) or 'not shown'}"


def _contents(report: Json) -> Iterator[str]:
    """`2 CPUs`, `2048 GiB in 32 modules`, `8 × H100 80GB HBM3` …"""
    if report["cpus"]:
        yield counted(len(report["cpus"]), "CPU")
    if report["memory_mib"]:
        yield f"{report['memory_mib'] // 1024} GiB in {counted(len(report['dimms']), 'module')}"
    for model, count in Counter(gpu["model"] or "GPU of unknown model" for gpu in report["gpus"]).items():
        yield f"{count} × {model}"
    for name, noun in (("nvswitches", "NVSwitch"), ("nics", "NIC"), ("drives", "drive"), ("power_supplies", "power supply")):
        if report[name]:
            yield counted(len(report[name]), noun)


def _grouped(firmware: Sequence[Json]) -> list[Json]:
    """One row for like components of one version."""
    rows = []
    for name, entries in families(firmware).items():
        by_version: dict[str | None, list[str]] = defaultdict(list)
        for entry in entries:
            by_version[entry["version"]].append(entry["component"].removeprefix(name.removesuffix("*")))
        for version, numbers in by_version.items():
            component = name.replace("*", numbers[0]) if len(numbers) == 1 else name.replace("*", f"{{{_ranges(numbers)}}}")
            rows.append({"component": component, "version": version})
    return rows


def _ranges(numbers: Sequence[str]) -> str:
    """`1-8`, `0,2,3`."""
    whole = [int(number) for number in numbers]
    is_run = whole == list(range(whole[0], whole[0] + len(whole)))
    return f"{whole[0]}-{whole[-1]}" if is_run and len(whole) > 2 else ",".join(numbers)


def _print_nvlinks(console: Answer, edges: Sequence[Json]) -> None:
    """Links up of links there are, per GPU and peer."""
    if not edges:
        return
    names = list(dict.fromkeys(edge["gpu_name"] for edge in edges))
    peers = sorted({edge["peer"] or "?" for edge in edges}, key=natural)
    total = Counter((edge["gpu_name"], edge["peer"] or "?") for edge in edges)
    up = Counter((edge["gpu_name"], edge["peer"] or "?") for edge in edges if edge["state"] == "up")
    rows = [{"": name, **{peer: _cell(up[(name, peer)], total[(name, peer)]) for peer in peers}} for name in names]
    agreed = sum(1 for edge in edges if edge["both_ends_agree"])
    speeds = Counter(edge["gbps"] for edge in edges if edge["gbps"] is not None and edge["state"] == "up")
    said = ", ".join(f"{count} at {speed:g} Gbit/s" for speed, count in speeds.items()) or "speed not shown"
    title = f"NVLink: {sum(up.values())} of {len(edges)} up, {said}, {agreed} confirmed from both ends"
    _print_table(console, title, rows, ("", *peers), None)


def _cell(up: int, total: int) -> str:
    return "" if total == 0 else str(up) if up == total else f"{up}/{total}!"


def _print_table(console: Answer, title: str, rows: Sequence[Json], columns: Sequence[str], count: int | None = -1) -> None:
    if not rows:
        return
    shown = len(rows) if count == -1 else count
    console.print(f"\n{title}" + (f" ({shown})" if shown is not None else ""))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(row.get(column))) for column in columns))
    console.print(table)


def _print_gaps(console: Answer, gaps: Sequence[Json]) -> None:
    """Grouped: `gpus/*/serial (4)`."""
    if not gaps:
        return
    console.print(f"\nNot readable ({len(gaps)})")
    by_reason: dict[str, Counter[str]] = defaultdict(Counter)
    for gap in gaps:
        kind, *rest = gap["what"].split("/")
        by_reason[gap["why"]]["/".join([kind, "*" if rest else "", *rest[1:]]).rstrip("/")] += 1
    for why, kinds in list(by_reason.items())[:_SHOWN_GAPS]:
        words = (f"{kind} ({count})" if count > 1 else kind for kind, count in kinds.most_common(_SHOWN_GAPS))
        console.print(_text(f"  {why}: {', '.join(words)}"))
    if len(by_reason) > _SHOWN_GAPS:
        console.print(f"  and {len(by_reason) - _SHOWN_GAPS} more reasons: see --json")


# -- words -----------------------------------------------------------------------------------------------------------------------


def _readable(part: Json) -> Json:
    """With sizes and speeds in the units that people order by."""
    made = dict(part)
    units: dict[str, tuple[str, Callable[[Any], str]]] = {
        "pcie": ("PCIe", pcie_words),
        "memory_mib": ("memory", lambda value: f"{value / 1024:.0f} GiB"),
        "size_bytes": ("size", _size),
        "rate_gbps": ("rate", lambda value: f"{value:g} Gbit/s"),
    }
    for name, (column, words) in units.items():
        if made.get(name) is not None:
            made[column] = words(made[name])
    return made


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e12:.2f} TB" if size_bytes >= 1e12 else f"{size_bytes / 1e9:.0f} GB"


def _words(*texts: str | None) -> str:
    """Without what the next word says again (`AMI`, `AMI Redfish Server`)."""
    known = [text for text in texts if text]
    kept = [text for text, after in zip(known, [*known[1:], ""], strict=False) if not after.startswith(text)]
    return " ".join(kept) or "unknown machine"


def _natural_order(part: Json) -> Any:
    return natural(str(part.get("name") or part.get("socket") or ""))


def _text(value: object) -> str:
    """Printable: BMCs choose these words."""
    if value is None:
        return "–"
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text)
