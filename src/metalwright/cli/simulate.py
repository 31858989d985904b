"""`metalwright simulate serve|fault|clear|act|list`: a simulated site, and what goes wrong in it."""

import argparse
import asyncio
from pathlib import Path
from typing import Any


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("simulate", help="serve a simulated GPU site; inject and clear faults")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    serve = actions.add_parser("serve", help="serve every BMC and machine of a simulated site, or one recorded BMC, until interrupted")
    serve.add_argument("site", type=Path, nargs="?")
    serve.add_argument("--capture", type=Path, metavar="FILE", help="a recorded tree instead of a site: archive or folder")
    serve.add_argument(
        "--listen", default="https://127.0.0.1:9443", metavar="URL", help="loopback URL of the recorded BMC (default %(default)s)"
    )
    serve.add_argument("--user", help="account of the recorded BMC (default: it takes any, and none)")
    serve.add_argument("--password-env", metavar="VAR", help="environment variable that holds its password")
    serve.add_argument("--state", type=Path, help="where disks, faults and certificates live (default: SITE/.simulator, or nowhere)")
    serve.add_argument("--seed", type=int, default=0)
    serve.add_argument("--latency-ms", type=float, default=0.0, help="added to every Redfish answer")
    serve.add_argument("--speed", type=float, default=1.0, help="how much faster machines start")
    serve.add_argument("--disk-mb-s", type=float, default=0.0, help="limit of each disk's write speed in MB/s (default: none)")
    serve.set_defaults(run=_serve)
    for name, help_text in (
        ("fault", "inject a fault"),
        ("clear", "clear faults; all if none is named"),
        ("act", "do something to a machine"),
    ):
        action = actions.add_parser(name, help=help_text)
        how_many = "?" if name == "clear" else None
        action.add_argument("name", nargs=how_many, help="see `simulate list`")
        action.add_argument("node", nargs=how_many)
        if name != "clear":
            action.add_argument("argument", nargs="*", metavar="NAME=VALUE")
        action.add_argument("--state", type=Path, default=Path(".simulator"))
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=_ask)
    listing = actions.add_parser("list", help="faults that exist, and those that are injected")
    listing.add_argument("--state", type=Path, default=Path(".simulator"))
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=_ask)


def _serve(args: argparse.Namespace) -> int:
    from metalwright.model.errors import InputError
    from metalwright.service.simulation import run_simulated_site

    if (args.site is None) == (args.capture is None):
        raise InputError("give a site folder or --capture FILE, one of them", hint="metalwright simulate serve --help")
    if args.capture is not None:
        return _serve_recorded(args)
    asyncio.run(
        run_simulated_site(
            args.site,
            args.state or args.site / ".simulator",
            seed=args.seed,
            latency_s=args.latency_ms / 1000,
            speed=args.speed,
            disk_bytes_per_s=args.disk_mb_s * 1e6,
            say=lambda text: print(text, flush=True),
        )
    )
    return 0


def _serve_recorded(args: argparse.Namespace) -> int:
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from metalwright.cli.bmc_target import account_of
    from metalwright.service.simulation import run_recorded_bmc

    account = account_of(args)
    with ExitStack() as stack:
        state = args.state or Path(stack.enter_context(TemporaryDirectory(prefix="metalwright-")))
        asyncio.run(
            run_recorded_bmc(
                args.capture,
                args.listen,
                state,
                account=(account[0].reveal(), account[1]) if account else None,
                latency_s=args.latency_ms / 1000,
                say=lambda text: print(text, flush=True),
            )
        )
    return 0


def _ask(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.simulator.control import ask

    if args.action == "list":
        known, now = ask(args.state, {"do": "list"}), ask(args.state, {"do": "state"})
        if args.json:
            print_json({"faults": known["faults"], "acts": known["acts"], "injected": now["faults"], "nodes": now["nodes"]})
            return 0
        for fault in known["faults"]:
            print(f"{fault['name']:22}{fault['summary']}")
            print("".join(f"{'':22}{words}\n" for words in _details(fault)), end="")
        for name, summary in known["acts"].items():
            print(f"act {name:18}{summary}")
        for node in now["nodes"]:
            print(f"{node['node']:22}{node['power']}: {node['happening']}")
        for held in now["faults"]:
            print(f"injected {held['number']}: {held['fault']} on {held['node']}")
        return 0
    if args.action == "clear":
        answer = ask(args.state, {"do": "clear", "fault": args.name, "node": args.node})
        said = [f"cleared {held['fault']} on {held['node']}" for held in answer["cleared"]] or ["nothing held"]
    else:
        request = {"do": args.action, "name": args.name, "node": args.node, "arguments": _arguments(args.argument)}
        answer = ask(args.state, request)
        said = [f"{args.action} {args.name} on {args.node}: done"]
    print_json(answer) if args.json else print("\n".join(said))
    return 0


def _details(fault: dict[str, Any]) -> list[str]:
    """What it takes and what it turns, each a line if there is any."""
    takes = " ".join(f"{name}={value}" for name, value in fault["arguments"].items())
    lines = [("takes", takes), ("turns red", ", ".join(fault["turns_red"])), ("turns undetermined", ", ".join(fault["turns_undetermined"]))]
    return [f"{word}: {text}" for word, text in lines if text]


def _arguments(words: list[str]) -> dict[str, str]:
    from metalwright.model.errors import InputError

    wrong = [text for text in words if "=" not in text]
    if wrong:
        raise InputError(f"{wrong[0]!r} is not NAME=VALUE", hint="metalwright simulate list shows what a fault takes")
    return dict(text.split("=", 1) for text in words)
