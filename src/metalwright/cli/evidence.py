"""`metalwright evidence list|show|export|verify`: what was proven, and one file that anyone verifies."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

MAX_FILE_BYTES = 1 << 30
"""Some 300,000 records; this bounds what a hostile file can cost."""


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("evidence", help="list, show, export, verify: signed records of every verdict")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every record of the log")
    listing.add_argument("site", type=Path, nargs="?", default=Path("."))
    listing.add_argument("--node", help="only records about this node")
    show = actions.add_parser("show", help="one record's statement")
    show.add_argument("index", type=int)
    show.add_argument("site", type=Path, nargs="?", default=Path("."))
    export = actions.add_parser("export", help="the whole log as one file")
    export.add_argument("site", type=Path, nargs="?", default=Path("."))
    export.add_argument("--out", type=Path, required=True)
    export.add_argument("--trust-out", type=Path, help="also write the trust file; hand it over by another way than the bundle")
    verify = actions.add_parser("verify", help="check a bundle: no network, no database")
    verify.add_argument("bundle", type=Path)
    verify.add_argument("--trust", type=Path, required=True)
    for action in (listing, show, export, verify):
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """verify: 0 valid, 1 not; the others 0."""
    if args.action == "verify":
        return _verify(args)
    return asyncio.run({"list": _list, "show": _show, "export": _export}[args.action](args))


def _verify(args: argparse.Namespace) -> int:
    import time

    from metalwright.cli.output import print_json
    from metalwright.evidence.verify import verify_bundle

    report = verify_bundle(_bytes(args.bundle), _bytes(args.trust), time.time())
    if args.json:
        print_json(
            {
                "valid": report.is_valid,
                "origin": report.origin,
                "simulated": report.simulated,
                "records": report.records,
                "key_id": report.key_id,
                "exported": report.exported,
                "nodes": [{"node": node.name, "serial": node.serial, "gates": dict(node.gates)} for node in report.nodes],
                "unaccounted": list(report.unaccounted),
                "faults": [{"where": where, "why": why} for where, why in report.faults],
            }
        )
    else:
        _say(report)
    return 0 if report.is_valid else 1


def _say(report: Any) -> None:
    if not report.is_valid:
        for where, why in report.faults:
            print(f"{where}: {why}")
        print("NOT valid")
        return
    print(f"{report.records} records of log {report.origin}, checkpoint signed by log key {report.key_id[:16]}")
    total = len(report.nodes) + len(report.unaccounted)
    print(
        f"{len(report.nodes)} of {total} serials accounted for"
        + (f"; no record of {', '.join(report.unaccounted)}" if report.unaccounted else "")
    )
    for node in report.nodes:
        print(f"  {node.serial}  {node.name}  " + "  ".join(f"{gate} {verdict}" for gate, verdict in node.gates.items()))
    if report.simulated:
        print("simulated site: this is no evidence of real hardware")
    print("valid")


def _bytes(file: Path) -> bytes:
    from metalwright.model.errors import InputError

    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise InputError(f"{file} has more than {MAX_FILE_BYTES >> 20} MiB: no bundle of ours", hint="name the exported bundle")
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint="name the exported bundle, and --trust its trust file") from error


async def _list(args: argparse.Namespace) -> int:
    import time

    from metalwright.cli.output import console, print_json, table
    from metalwright.service.records import read_records

    records = await read_records(args.site)
    shown = [record for record in records if args.node is None or record.about == f"node:{args.node}"]
    if args.json:
        print_json(
            [{"index": each.index, "kind": each.kind, "about": each.about, "says": each.says, "at": each.logged_at} for each in shown]
        )
    else:
        rows = [
            [str(each.index), time.strftime("%F %T", time.localtime(each.logged_at)), each.kind, each.about, each.says] for each in shown
        ]
        console().print(table(["record", "logged", "kind", "about", "says"], rows))
    return 0


async def _show(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.model.errors import InputError
    from metalwright.service.records import read_records

    records = await read_records(args.site)
    if not 0 <= args.index < len(records):
        raise InputError(f"the log has {len(records)} records, counted from 0", hint="metalwright evidence list SITE")
    print_json(records[args.index].statement)
    return 0


async def _export(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.service.records import export

    exported = await export(args.site, args.out, args.trust_out)
    if args.json:
        print_json({"bundle": str(args.out), "records": exported.records, "bytes": exported.size, "origin": exported.origin})
    else:
        print(f"{exported.records} records, {exported.size} bytes: {args.out}")
        if args.trust_out:
            print(f"trust file: {args.trust_out}", file=sys.stdout)
    return 0
