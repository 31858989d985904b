"""`metalwright work list|show|confirm|done`: work orders in which a person has a part."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

from metalwright.planner.sheets import Turn, WorkSheet


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("work", help="work orders for people: list, show (also on paper), confirm, done")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser(
        "list", help="every work order that waits for a person or for a proof, and every repair that a red gate asks for"
    )
    show = actions.add_parser("show", help="one work order as a technician reads it")
    show.add_argument("ticket", metavar="N", help="number of a work order, or NODE/CHECK of a repair")
    show.add_argument("--html", type=Path, metavar="FILE", help="write it as a page for A4")
    show.add_argument("--pdf", type=Path, metavar="FILE", help="print it, with the Chromium of this machine")
    confirm = actions.add_parser("confirm", help="let metalwright begin an assisted work order")
    done = actions.add_parser("done", help="a manual step was done; a fresh look still proves it")
    for action in (confirm, done):
        action.add_argument("number", type=int)
        action.add_argument("--by", required=True, metavar="NAME", help="who: a principal of role `execute`")
        action.add_argument("--note", default="", help="remarks, kept in the evidence")
    for action in (listing, show, confirm, done):
        action.add_argument("--site", type=Path, default=Path("."), help="site folder (default: here)")
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """list: 0 nothing waits, 2 something does; the others 0."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from metalwright.cli.output import print_json
    from metalwright.service.work_orders import open_desk

    async with open_desk(args.site) as desk:
        if args.action == "list":
            sheets = await desk.open_sheets()
            print_json([sheet_json(sheet) for sheet in sheets]) if args.json else _print_list(sheets)
            return 2 if sheets else 0
        if args.action == "show":
            _show(await desk.sheet(args.ticket), args)
            return 0
        says = Turn.CONFIRM if args.action == "confirm" else Turn.DO
        sheet = await desk.say(args.number, says, args.by, args.note)
    said = "metalwright begins" if says is Turn.CONFIRM else "a fresh look proves it"
    if args.json:
        print_json(sheet_json(sheet) | {"by": args.by, "said": args.action})
    else:
        print(f"work order {sheet.ticket}, step {sheet.step} of {len(sheet.steps)}: recorded for {args.by}; {said}")
    return 0


def _show(sheet: WorkSheet, args: argparse.Namespace) -> None:
    from metalwright.cli.output import print_json

    if args.html is not None:
        _write_html(sheet, args.html)
    if args.pdf is not None:
        from metalwright.drivers.printing.chromium import print_pdf
        from metalwright.service.work_page import page

        print_pdf(page(sheet), args.pdf)
    if args.json:
        print_json(sheet_json(sheet))
    elif args.html is None and args.pdf is None:
        _print_sheet(sheet)
    else:
        print(", ".join(str(file) for file in (args.html, args.pdf) if file is not None))


def _write_html(sheet: WorkSheet, file: Path) -> None:
    from metalwright.model.errors import InputError
    from metalwright.service.work_page import page

    try:
        file.write_text(page(sheet), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", hint="name a file in a folder that is yours") from error


def _print_list(sheets: list[WorkSheet]) -> None:
    from metalwright.cli.output import console, table

    out = console()
    if not sheets:
        out.print("no work order waits for a person")
        return
    rows = [[each.ticket, each.node, f"{each.rack} U{each.unit}", each.goal, each.depth, each.state, each.title] for each in sheets]
    out.print(table(["order", "node", "place", "gate", "depth", "state", "step"], rows))


def _print_sheet(sheet: WorkSheet) -> None:
    from metalwright.cli.output import console

    out = console()
    attempt = f", attempt {sheet.attempt}" if sheet.attempt > 1 else ""
    out.print(f"Work order {sheet.ticket} · {sheet.title}", style="bold", markup=False)
    out.print(f"step {sheet.step} of {len(sheet.steps)}{attempt} · gate {sheet.goal} · {sheet.depth} · {sheet.state}", markup=False)
    out.print(f"rack {sheet.rack} · unit {sheet.unit} · {sheet.node} · serial {sheet.serial}\n", markup=False)
    for number, line in enumerate(sheet.do, start=1):
        out.print(f"  {number}. {line}", markup=False)
    out.print(f"\n  ! {sheet.caution}\n", style="bold red", markup=False)
    for title, lines in (("Why", sheet.why), ("How it will be checked", sheet.check)):
        out.print(title, style="bold")
        for line in lines:
            out.print(f"  {line}", markup=False)
    for cable in sheet.cables:
        out.print(f"  cable {cable.label}: {cable.a_port} → {cable.b_device} {cable.b_port}", markup=False)
    out.print(f"\n{sheet.command or f'done by {sheet.by}; the proof is awaited'}", markup=False)


def sheet_json(sheet: WorkSheet) -> dict[str, Any]:
    """Stable keys of `work list --json` and `work show --json`."""
    return {
        "ticket": sheet.ticket,
        "node": sheet.node,
        "rack": sheet.rack,
        "unit": sheet.unit,
        "serial": sheet.serial,
        "gate": sheet.goal,
        "depth": sheet.depth,
        "step": sheet.step,
        "steps": list(sheet.steps),
        "attempt": sheet.attempt,
        "turn": sheet.turn,
        "title": sheet.title,
        "do": list(sheet.do),
        "caution": sheet.caution,
        "why": list(sheet.why),
        "check": list(sheet.check),
        "cables": [
            {"label": cable.label, "port": cable.a_port, "to": cable.b_device, "to_port": cable.b_port, "fabric": cable.fabric}
            for cable in sheet.cables
        ],
        "command": sheet.command or None,
        "by": sheet.by or None,
    }
