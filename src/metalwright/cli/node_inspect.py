"""`metalwright node inspect URL`: what one BMC shows, with no site. The first thing to try on a new machine."""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metalwright.cli.bmc_target import add_target_arguments, connected, target_of

if TYPE_CHECKING:
    from metalwright.drivers.redfish.inspection import Inspection

Json = dict[str, Any]
_FILE_WIDTH = 200
"""Columns when the output is no terminal: wide enough that no serial is broken over two lines."""
_GPU_COLUMNS = ("index", "name", "model", "serial", "memory_mib", "PCIe", "health")


def add_parser(sub: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `inspect` and `capture` to the verbs of `node`."""
    from metalwright.cli import node_capture

    parser = sub.add_parser("inspect", help="inventory, NVLink matrix and firmware of one BMC, no site needed")
    add_target_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document; its keys are stable (docs/node-inspect.md)")
    parser.set_defaults(run=run)
    node_capture.add_parser(sub)


def run(args: argparse.Namespace) -> int:
    """0 when the BMC was read, gaps included; errors of the model otherwise."""
    inspection = asyncio.run(_inspect(args))
    if args.json:
        print(json.dumps(inspection.report, indent=2, ensure_ascii=False))
    else:
        _print(inspection.report)
    return 0


async def _inspect(args: argparse.Namespace) -> "Inspection":
    from metalwright.drivers.redfish.inspection import inspect_bmc
    from metalwright.drivers.redfish.limits import Bounds

    target = target_of(args)
    async with connected(args, target) as (client, trust):
        inspection = await inspect_bmc(client, Bounds())
        inspection.report["bmc"]["certificate"] = target.fingerprint or trust.pins.get(trust.bmc)
        return inspection


# -- for people ----------------------------------------------------------------------------------------------------------------


def _print(report: Json) -> None:
    from rich.console import Console

    width = None if sys.stdout.isatty() else _FILE_WIDTH
    console = Console(file=sys.stdout, highlight=False, markup=False, width=width)
    identity, bmc = report["identity"], report["bmc"]
    console.print(f"{_words(identity['manufacturer'], identity['model'])}  serial {identity['system_serial'] or 'not shown'}")
    firmware = ", ".join(f"{m['name']} {m['firmware'] or '?'}" for m in bmc["managers"])
    console.print(f"BMC {_words(bmc['vendor'], bmc['product'])}, Redfish {bmc['redfish_version']}, {firmware}")
    memory = f"{report['memory_mib'] // 1024} GiB in {len(report['dimms'])} modules" if report["memory_mib"] else "memory not shown"
    console.print(f"power {report['power']}, BIOS {report['bios_version'] or 'not shown'}, TPM {report['tpm'] or 'not shown'}, {memory}")
    console.print(f"console {_console(report['console'])}")
    _rows(console, "CPUs", report["cpus"], ("socket", "model", "cores", "serial"))
    _rows(console, "GPUs", [_with_link(gpu) for gpu in report["gpus"]], _GPU_COLUMNS)
    _rows(console, "NVSwitches", report["nvswitches"], ("index", "name", "model", "serial"))
    _nvlinks(console, report)
    _rows(console, "NICs", [_with_link(nic) for nic in report["nics"]], ("name", "model", "serial", "macs", "rate_gbps", "PCIe"))
    _rows(console, "Drives", report["drives"], ("name", "model", "serial", "size_bytes", "slot"))
    _rows(console, "Power supplies", report["power_supplies"], ("name", "serial", "watts", "health"))
    _rows(console, "Firmware", report["firmware"], ("component", "version"))
    _gaps(console, report["gaps"])
    console.print(f"\n{bmc['requests']} requests in {bmc['seconds']} s, {report['lenient_readings']} lenient readings")


def _nvlinks(console: Any, report: Json) -> None:
    """Links up of links there are, per GPU and peer; then every link that is not as it should be."""
    edges = report["nvlink_edges"]
    if not edges:
        return
    names = list(dict.fromkeys(edge["gpu_name"] for edge in edges))
    peers = sorted({edge["peer"] or "?" for edge in edges})
    total = Counter((edge["gpu_name"], edge["peer"] or "?") for edge in edges)
    up = Counter((edge["gpu_name"], edge["peer"] or "?") for edge in edges if edge["state"] == "up")
    rows = []
    for name in names:
        cells = {peer: _cell(up[(name, peer)], total[(name, peer)]) for peer in peers}
        rows.append({"": name, **cells})
    agreed = sum(1 for edge in edges if edge["both_ends_agree"])
    speeds = ", ".join(f"{count} at {speed:g} Gbit/s" for speed, count in _speeds(edges).items()) or "speed not shown"
    _rows(console, f"NVLink: {sum(up.values())} of {len(edges)} up, {speeds}, {agreed} confirmed from both ends", rows, ("", *peers))
    for edge in edges:
        if edge["state"] != "up" or edge["both_ends_agree"] is False or edge["errors"]:
            peer = f"{edge['peer'] or '?'} port {edge['peer_port']}"
            notes = [edge["state"]] + (["the other end disagrees"] if edge["both_ends_agree"] is False else [])
            notes += [f"{edge['errors']} errors"] if edge["errors"] else []
            console.print(f"  ! {edge['gpu_name']} port {edge['gpu_port']} to {peer}: {', '.join(notes)}")


def _speeds(edges: Sequence[Json]) -> Counter[float]:
    return Counter(edge["gbps"] for edge in edges if edge["gbps"] is not None)


def _cell(up: int, total: int) -> str:
    return "" if total == 0 else str(up) if up == total else f"{up}/{total}!"


def _rows(console: Any, title: str, rows: Sequence[Json], columns: Sequence[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    console.print(f"\n{title}" if title.startswith("NVLink") else f"\n{title} ({len(rows)})")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(Text(column.replace("_", " ") if column.islower() else column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(row.get(column))) for column in columns))
    console.print(table)


def _gaps(console: Any, gaps: Sequence[Json]) -> None:
    if not gaps:
        return
    reasons = Counter(gap["why"] for gap in gaps)
    console.print(f"\nNot readable ({len(gaps)})")
    for why, count in reasons.most_common(20):
        names = [gap["what"] for gap in gaps if gap["why"] == why]
        console.print(f"  {why}: {', '.join(names[:6])}{f' and {count - 6} more' if count > 6 else ''}")


def _with_link(part: Json) -> Json:
    link = part["pcie"]
    if link is None:
        return part
    now = f"gen {link['generation'] or '?'} x{link['width'] or '?'}"
    best = f"gen {link['max_generation'] or '?'} x{link['max_width'] or '?'}"
    return {**part, "PCIe": now if now == best else f"{now} of {best}!"}


def _console(console: Json) -> str:
    ways = [f"{name} port {way['port']}" for name, way in console.items() if way is not None]
    return ", ".join(ways) or "not shown"


def _words(*texts: str | None) -> str:
    return " ".join(text for text in texts if text) or "unknown machine"


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, list | tuple):
        return " ".join(str(item) for item in value)
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text)
