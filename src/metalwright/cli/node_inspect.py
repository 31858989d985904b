"""`metalwright node inspect URL`: what one BMC shows, with no site. The first thing to try on a new machine."""

import argparse
import asyncio
import json
from typing import TYPE_CHECKING

from metalwright.cli.bmc_target import add_target_arguments, connected, target_of

if TYPE_CHECKING:
    from metalwright.drivers.redfish.inspection import Inspection


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
    from metalwright.cli.inspect_notes import standing_out

    report = asyncio.run(_inspect(args)).report
    report["stands_out"] = list(standing_out(report))
    if args.json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        from metalwright.cli.inspect_view import print_report

        print_report(report)
    return 0


async def _inspect(args: argparse.Namespace) -> "Inspection":
    from metalwright.drivers.redfish.inspection import inspect_bmc
    from metalwright.drivers.redfish.limits import Bounds

    target = target_of(args)
    async with connected(args, target) as (client, trust):
        inspection = await inspect_bmc(client, Bounds())
        inspection.report["bmc"]["certificate"] = target.fingerprint or trust.pins.get(trust.bmc)
        return inspection
