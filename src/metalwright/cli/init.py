"""`metalwright init DIR --kind KIND`: scaffold a site folder."""

import argparse
from pathlib import Path

KINDS = ("first-cluster", "hgx-h100-rails", "gb200-nvl72", "delivered", "simulated", "lab")


def add_parser(sub: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the verb."""
    parser = sub.add_parser("init", help="scaffold a site spec, commented")
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder")
    parser.add_argument("--kind", choices=KINDS, default="first-cluster", help="what to start from (first-cluster)")
    parser.add_argument("--nodes", type=int, help="how many servers, instead of the kind's own number")
    parser.add_argument("--name", help="name of the site, instead of the folder's")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 written, 3 a bad argument or a folder that is not empty."""
    from metalwright.codec.json_codec import to_bytes
    from metalwright.codec.scaffold import write_scaffold

    written = write_scaffold(args.folder, args.kind, nodes=args.nodes, name=args.name)
    if args.json:
        print(to_bytes({"folder": str(args.folder), "kind": args.kind, "files": list(written)}, dict[str, str | list[str]]).decode())
        return 0
    for name in written:
        print(args.folder / name)
    print(f"\nnext: edit {args.folder / 'site.yaml'}, then run: metalwright check {args.folder}")
    return 0
