"""`metalwright evidence trust show|draft|install`: the trust file, and its next version with another log key, roots or witnesses."""

import argparse
from pathlib import Path


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser("trust", help="show, draft, install: keys of the log and who may change them")
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    show = steps.add_parser("show", help="the version in force")
    draft = steps.add_parser("draft", help="the text of the next version, for its root keys to sign")
    draft.add_argument("--out", type=Path, required=True, help="sign it with: ssh-keygen -Y sign -f KEY -n metalwright-trust FILE")
    draft.add_argument("--new-key", action="store_true", help="a new log key, from the next record on")
    draft.add_argument("--key-place", type=Path, help="the new log key is where this file says (an agent, a PKCS#11 module)")
    draft.add_argument("--root", type=Path, action="append", help="a .pub file of a root key from now on; again for each")
    draft.add_argument("--threshold", type=int, help="how many root keys the version after needs")
    draft.add_argument("--endorse-people", action="store_true", help="signers and roles of the site from now on only by the root keys")
    install = steps.add_parser("install", help="the signed text becomes the version in force; stop `apply` before")
    install.add_argument("draft", type=Path)
    install.add_argument("signatures", type=Path, nargs="*", help="what ssh-keygen made; none where the log key is the only root")
    for step in (show, draft, install):
        step.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
        step.add_argument("--json", action="store_true")
        step.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0, or 3 for a change that cannot be."""
    from metalwright.model.errors import InputError

    try:
        return {"show": _show, "draft": _draft, "install": _install}[args.step](args)
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}", hint="name files that exist and are yours") from error


def _show(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.service.trusting import trust_in_force

    trust = trust_in_force(args.site)
    told = {
        "origin": trust.origin,
        "version": trust.version,
        "simulated": trust.simulated,
        "log_keys": [{"key": entry.key.key_id, "from_record": entry.from_index} for entry in trust.log_keys],
        "roots": [root.key_id for root in trust.roots],
        "threshold": trust.threshold,
        "witnesses": [str(witness) for witness in trust.witnesses],
        "witness_threshold": trust.witness_threshold,
        "authority": trust.authority,
    }
    if args.json:
        print_json(told)
        return 0
    print(f"{trust.origin}, trust file version {trust.version}{', simulated' if trust.simulated else ''}")
    for entry in trust.log_keys:
        print(f"  log key {entry.key.key_id[:16]} from record {entry.from_index}")
    print(f"  {trust.threshold} of {len(trust.roots)} root keys: {', '.join(root.key_id[:16] for root in trust.roots)}")
    print(f"  {trust.witness_threshold} of {len(trust.witnesses)} witnesses")
    print(f"  signers and roles: {f'endorsed as sha256 {trust.authority}' if trust.authority else 'whatever the spec says'}")
    return 0


def _draft(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.drivers.signing.whole_file import write_whole
    from metalwright.service.trusting import draft_trust

    payload = draft_trust(
        args.site,
        new_key=args.new_key,
        key_place=args.key_place.read_bytes() if args.key_place else None,
        roots=tuple(" ".join(file.read_text().split()[:2]) for file in args.root) if args.root else None,
        threshold=args.threshold,
        endorse_people=args.endorse_people,
    )
    write_whole(args.out, payload, mode=0o644)
    print_json({"draft": str(args.out)}) if args.json else print(f"{args.out}: each root key's holder signs it")
    return 0


def _install(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.service.trusting import install_trust, trust_in_force

    install_trust(args.site, args.draft.read_bytes(), [file.read_bytes() for file in args.signatures])
    version = trust_in_force(args.site).version
    print_json({"version": version}) if args.json else print(f"trust file version {version} is in force: hand it to whoever verifies")
    return 0
