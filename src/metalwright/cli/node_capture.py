"""`metalwright node capture URL`: the whole tree of one BMC as a scrubbed archive, to attach to a bug report."""

import argparse
import asyncio
from pathlib import Path

from metalwright.model.errors import InputError


def add_parser(sub: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `capture` to the verbs of `node`."""
    from metalwright.cli.node_inspect import add_account_arguments

    parser = sub.add_parser("capture", help="the whole tree of one BMC as an archive, with serials, addresses and names replaced")
    add_account_arguments(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="archive to write, FILE.tar.xz")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 once the archive is written; what could not be read is listed in it."""
    return asyncio.run(_capture(args))


async def _capture(args: argparse.Namespace) -> int:
    from metalwright.cli.node_inspect import connected
    from metalwright.drivers.redfish.capture import capture_bmc, write_archive
    from metalwright.drivers.redfish.limits import Limits

    if args.output.exists():
        raise InputError(f"{args.output} exists", hint="name another file, or remove it")
    async with connected(args) as (client, _):
        capture = await capture_bmc(client, Limits())
    try:
        count = await asyncio.to_thread(write_archive, capture, args.output.name.partition(".")[0], args.output)
    except OSError as error:
        raise InputError(f"{args.output} cannot be written: {error}") from error
    print(f"{args.output}: {count} documents, {len(capture.unread)} not readable; look through it before you hand it on")
    return 0
