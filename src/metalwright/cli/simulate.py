"""`metalwright simulate serve|fault|clear|act|list`: a simulated site, and what goes wrong in it."""

import argparse
import asyncio
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("simulate", help="serve a simulated GPU site; inject and clear faults")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    serve = actions.add_parser("serve", help="serve every BMC and machine of a simulated site until interrupted")
    serve.add_argument("site", type=Path)
    serve.add_argument("--state", type=Path, help="where disks and faults live (default: SITE/.simulator)")
    serve.add_argument("--seed", type=int, default=0)
    serve.add_argument("--latency-ms", type=float, default=0.0, help="added to every Redfish answer")
    serve.add_argument("--speed", type=float, default=1.0, help="how much faster machines start")
    serve.set_defaults(run=_serve)
    for name, help_text in (("fault", "inject a fault"), ("clear", "clear a fault"), ("act", "do something to a machine")):
        action = actions.add_parser(name, help=help_text)
        action.add_argument("name", help="see `simulate list`")
        action.add_argument("node")
        action.add_argument("argument", nargs="*", metavar="NAME=VALUE")
        action.add_argument("--state", type=Path, default=Path(".simulator"))
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=_ask)
    listing = actions.add_parser("list", help="faults that exist, and those that are injected")
    listing.add_argument("--state", type=Path, default=Path(".simulator"))
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=_ask)


def _serve(args: argparse.Namespace) -> int:
    from metalwright.service.simulation import run_simulated_site

    asyncio.run(
        run_simulated_site(
            args.site,
            args.state or args.site / ".simulator",
            seed=args.seed,
            latency_s=args.latency_ms / 1000,
            speed=args.speed,
            say=lambda text: print(text, flush=True),
        )
    )
    return 0


def _ask(args: argparse.Namespace) -> int:
    from metalwright.cli.output import console, print_json, table
    from metalwright.model.errors import InputError
    from metalwright.simulator.control import ask

    if args.action == "list":
        known, now = ask(args.state, {"do": "list"}), ask(args.state, {"do": "state"})
        if args.json:
            print_json({"faults": known["faults"], "acts": known["acts"], "injected": now["faults"], "nodes": now["nodes"]})
            return 0
        rows = [[fault["name"], fault["summary"], ", ".join(fault["turns_red"] + fault["turns_undetermined"])] for fault in known["faults"]]
        console().print(table(["fault", "what it does", "findings"], rows))
        for held in now["faults"]:
            print(f"injected {held['number']}: {held['fault']} on {held['node']}")
        return 0
    wrong = [text for text in args.argument if "=" not in text]
    if wrong:
        raise InputError(f"{wrong[0]!r} is not NAME=VALUE", hint="metalwright simulate list shows what a fault takes")
    arguments = dict(text.split("=", 1) for text in args.argument)
    if args.action == "clear":
        request = {"do": "clear", "fault": args.name, "node": args.node}
    else:
        request = {"do": args.action, "name": args.name, "node": args.node, "arguments": arguments}
    answer = ask(args.state, request)
    print_json(answer) if args.json else print(f"{args.action} {args.name} on {args.node}: done")
    return 0
