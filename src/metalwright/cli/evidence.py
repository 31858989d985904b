"""`metalwright evidence list|show|proof|export|verify|trust`: what was proven, and files that anyone verifies."""

import argparse
import asyncio
import sys
from pathlib import Path

from metalwright.cli.evidence_trust import add_parser as add_trust_parser


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("evidence", help="list, show, proof, export, verify, trust: signed records of every verdict")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every record of the log")
    listing.add_argument("site", type=Path, nargs="?", default=Path("."))
    listing.add_argument("--node", help="only records about this node")
    show = actions.add_parser("show", help="one record's statement")
    show.add_argument("index", type=int)
    show.add_argument("site", type=Path, nargs="?", default=Path("."))
    proof = actions.add_parser("proof", help="one record that verifies alone (C2SP tlog-proof)")
    proof.add_argument("index", type=int)
    proof.add_argument("site", type=Path, nargs="?", default=Path("."))
    proof.add_argument("--out", type=Path, help="write it there instead of printing it")
    export = actions.add_parser("export", help="the whole log as one file")
    export.add_argument("site", type=Path, nargs="?", default=Path("."))
    export.add_argument("--out", type=Path, required=True)
    export.add_argument("--trust-out", type=Path, help="also write the trust file; hand it over by another way than the bundle")
    verify = actions.add_parser("verify", help="check a bundle or a proof: no network, no database")
    verify.add_argument("bundle", type=Path)
    verify.add_argument("--trust", type=Path, required=True, action="append", help="the trust file; again for each version after it")
    verify.add_argument("--since", type=Path, action="append", default=[], help="an earlier checkpoint that the log must go on from")
    for action in (listing, show, proof, export, verify):
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=run)
    add_trust_parser(actions)


def run(args: argparse.Namespace) -> int:
    """verify: 0 valid, 1 not valid, 2 valid but some serial has no record, 3 a file that cannot be read. The others: 0, 3."""
    if args.action == "verify":
        return _verify(args)
    return asyncio.run({"list": _list, "show": _show, "proof": _proof, "export": _export}[args.action](args))


def _verify(args: argparse.Namespace) -> int:
    import time

    from metalwright.evidence.checkpoint import read_checkpoint
    from metalwright.evidence.errors import Refused
    from metalwright.evidence.notes import split_note
    from metalwright.evidence.records import PROOF_FIRST_LINE
    from metalwright.evidence.report import report_json, report_lines
    from metalwright.evidence.verify import verify_stream
    from metalwright.model.errors import InputError

    trust, *newer = [_bytes(file) for file in args.trust]
    try:
        since = [read_checkpoint(split_note(_bytes(file).decode(), str(file))[0], str(file)) for file in args.since]
    except (Refused, UnicodeDecodeError) as error:
        raise InputError(f"{error}", hint="--since takes a checkpoint: a signed note of origin, size and root") from error
    try:
        with args.bundle.open("rb") as stream:
            if stream.readline(64).decode("utf-8", "replace").strip() == PROOF_FIRST_LINE:
                return _verify_proof(args, trust, newer)
            stream.seek(0)
            report = verify_stream(stream, trust, time.time(), newer_trust=newer, since=since)
    except OSError as error:
        raise InputError(f"{args.bundle}: {error.strerror}", hint="name the exported bundle, and --trust its trust file") from error
    if args.json:
        _print_json(report_json(report))
    else:
        for line in report_lines(report):
            print(line)
    return (0 if report.is_complete else 2) if report.is_valid else 1


def _verify_proof(args: argparse.Namespace, trust: bytes, newer: list[bytes]) -> int:
    import time

    from metalwright.evidence.errors import Refused
    from metalwright.evidence.records import MAX_PROOF_BYTES, in_words, verify_proof
    from metalwright.evidence.trust import read_next_trust, read_trust

    try:
        trusted = read_trust(trust, time.time())
        for file in newer:
            trusted = read_next_trust(trusted, file, time.time())
        statement, head = verify_proof(_bytes(args.bundle, MAX_PROOF_BYTES).decode("utf-8", "replace"), trusted)
    except Refused as refused:
        if args.json:
            _print_json({"valid": False, "where": refused.where, "why": refused.why})
        else:
            print(f"{refused}\nNOT valid")
        return 1
    place = statement.place
    if args.json:
        _print_json(
            {
                "valid": True,
                "record": place.index,
                "kind": statement.kind,
                "about": place.about,
                "log_size": head.size,
                "simulated": statement.simulated,
            }
        )
    else:
        print(f"record {place.index} of log {head.origin}, in its checkpoint of {head.size} records: {place.about}  {in_words(statement)}")
        if statement.simulated:
            print("simulated site: not evidence of real hardware")
        print("valid")
    return 0


def _bytes(file: Path, limit: int = 1 << 20) -> bytes:
    """A small file; InputError for one that cannot be read or is larger than any of its kind."""
    from metalwright.model.errors import InputError

    try:
        with file.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint="name the exported bundle, and --trust its trust file") from error
    if len(data) > limit:
        raise InputError(f"{file}: larger than {limit} bytes", hint="name the file that was exported with the bundle")
    return data


def _print_json(value: object) -> None:
    """Without what draws tables: verifying needs nothing but the standard library and `cryptography`."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False))


async def _list(args: argparse.Namespace) -> int:
    import time

    from metalwright.cli.output import print_json
    from metalwright.service.records import read_records

    records = await read_records(args.site)
    shown = [record for record in records if args.node is None or record.about == f"node:{args.node}"]
    if args.json:
        print_json(
            [{"index": each.index, "kind": each.kind, "about": each.about, "says": each.says, "at": each.logged_at} for each in shown]
        )
    else:
        for each in shown:
            print(f"{each.index:>6}  {time.strftime('%F %T', time.localtime(each.logged_at))}  {each.kind:<6}  {each.about}  {each.says}")
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


async def _proof(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.drivers.signing.whole_file import write_whole
    from metalwright.model.errors import InputError
    from metalwright.service.records import prove

    proof = await prove(args.site, args.index)
    if args.out is not None:
        try:
            write_whole(args.out, proof.encode(), mode=0o644)
        except OSError as error:
            raise InputError(f"{args.out}: {error.strerror}", hint="name a folder that exists and is yours") from error
    if args.json:
        print_json({"record": args.index, "proof": proof})
    elif args.out is None:
        print(proof, end="")
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
