"""`python -m lab prepare|serve|exec|clean`: real machines without real servers. See docs/lab.md."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.network import NAMESPACES
from lab.site import clean, lab_network, namespace_of, only_lab, open_lab, prepare
from metalwright.codec.site_folder import read_site
from metalwright.model.errors import InputError, MetalwrightError
from metalwright.model.spec import StoredSpec

BAD_INPUT, COULD_NOT_RUN = 3, 4


def main(arguments: Sequence[str]) -> int:
    """Exit codes as the metalwright command's: 0 done, 3 bad input, 4 could not run."""
    chosen = _parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], int] = chosen.run
        return run(chosen)
    except MetalwrightError as error:
        print(f"lab: {error.message}" + (f"\n  hint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return BAD_INPUT if isinstance(error, InputError) else COULD_NOT_RUN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("prepare", help="build the RAM disk and the images of SITE")
    verb.add_argument("site", type=Path)
    verb.set_defaults(run=_prepare)
    verb = verbs.add_parser("serve", help="BMCs and machines of SITE until a signal")
    verb.add_argument("site", type=Path)
    verb.add_argument("--state", type=Path, required=True)
    verb.set_defaults(run=_serve)
    verb = verbs.add_parser("exec", help="run a command in the lab's network")
    verb.add_argument("--state", type=Path, required=True)
    verb.add_argument("command", nargs=argparse.REMAINDER)
    verb.set_defaults(run=_exec)
    verb = verbs.add_parser("clean", help="end whatever a killed lab left behind")
    verb.add_argument("--state", type=Path, required=True)
    verb.set_defaults(run=_clean)
    return parser


def _prepare(chosen: argparse.Namespace) -> int:
    prepare(chosen.site, _say)
    return 0


def _serve(chosen: argparse.Namespace) -> int:
    stored = read_site(chosen.site)
    prepare(chosen.site, _say)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the loop takes over, SIGTERM cleans up like Ctrl-C
    try:
        with only_lab(chosen.state), lab_network(stored, chosen.state):
            asyncio.run(_until_signalled(chosen.site, stored, chosen.state))
    except KeyboardInterrupt:
        pass
    return 0


async def _until_signalled(site: Path, stored: StoredSpec, state: Path) -> None:
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    async with open_lab(site, stored, state):
        nodes = stored.spec.nodes
        _say(f"ready: {len(nodes)} machines, BMCs {nodes[0].bmc} … {nodes[-1].bmc}, network namespace {namespace_of(state)}")
        await over.wait()


def _exec(chosen: argparse.Namespace) -> int:
    command = [word for index, word in enumerate(chosen.command) if (index, word) != (0, "--")]
    namespace = namespace_of(chosen.state)
    if not command:
        raise InputError("no command to run", hint="python -m lab exec --state DIR -- metalwright apply SITE")
    if not (NAMESPACES / namespace).exists():
        raise InputError(f"no lab is running for {chosen.state}", hint="python -m lab serve SITE --state DIR")
    os.execvp("ip", ["ip", "netns", "exec", namespace, *command])  # noqa: S606  # the command is the operator's own


def _clean(chosen: argparse.Namespace) -> int:
    with only_lab(chosen.state):
        clean(chosen.state)
    return 0


def _say(line: str) -> None:
    print(f"lab: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
