"""`metalwright check SITE`: every problem of the spec, then the plan gate's prerequisites. Touches nothing."""

import argparse
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("check", help="every problem of the spec, with file, line and hint; then the plan gate's prerequisites")
    parser.add_argument("site", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 nothing to mend, 1 a prerequisite fails, 2 one could not be judged, 3 the spec is broken."""
    from metalwright.cli.output import print_json
    from metalwright.cli.verdicts import exit_code, say_verdict, verdict_json
    from metalwright.drivers.netboot.dnsmasq_config import render_for_existing_dhcp
    from metalwright.service.site_check import check_site

    stored, verdict = check_site(args.site)
    if args.json:
        print_json({"site": stored.spec.site.name, "spec_digest": stored.digest, "plan": verdict_json(verdict)})
    else:
        print(f"{stored.spec.site.name}: {len(stored.spec.nodes)} nodes in {len(stored.spec.racks)} racks, spec {stored.digest[7:19]}")
        say_verdict(verdict)
        if stored.spec.netboot.dhcp == "external":
            print("\nyour DHCP server must know:\n" + render_for_existing_dhcp(stored.spec.netboot.boot_url, "THE-TFTP-SERVER"))
    return exit_code([verdict.colour])
