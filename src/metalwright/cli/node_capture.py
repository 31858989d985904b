"""`metalwright node capture URL|NODE`: the whole tree of one BMC as a scrubbed archive, to attach to a bug report."""

import argparse
import asyncio
import sys
from pathlib import Path

from metalwright.cli.bmc_target import add_target_arguments, connected, target_of
from metalwright.model.errors import InputError


def add_parser(sub: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `capture` to the verbs of `node`."""
    parser = sub.add_parser("capture", help="the whole tree of one BMC as an archive, with serials, addresses and names replaced")
    add_target_arguments(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", default=Path("capture.tar.xz"), help="archive to write (%(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 once the archive is written; what could not be read is listed in it."""
    return asyncio.run(_capture(args))


async def _capture(args: argparse.Namespace) -> int:
    from metalwright.drivers.redfish.capture import capture_bmc, write_archive
    from metalwright.drivers.redfish.limits import Limits

    if args.output.exists():
        raise InputError(f"{args.output} exists", hint="name another file with --output, or remove it")
    target = target_of(args)
    async with connected(args, target) as (client, _):
        capture = await capture_bmc(client, Limits(), _show)
    try:
        count = await asyncio.to_thread(write_archive, capture, args.output, target.names)
    except OSError as error:
        raise InputError(f"{args.output} cannot be written: {error}") from error
    unread = len(capture.unread) + len(capture.answers)
    print(f"{args.output}: {count} documents, {unread} not readable; look through it before you hand it on")
    print(f"try it: metalwright simulate serve --capture {args.output}")
    return 0


def _show(count: int) -> None:
    """On a terminal only: a real BMC takes minutes for its thousands of documents."""
    if sys.stderr.isatty():
        print(f"\r{count} documents", end="", file=sys.stderr, flush=True)
