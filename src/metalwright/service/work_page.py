"""A work sheet as one HTML page for A4: self-contained, nothing is fetched, every text escaped. The look is `data/work_order.html`."""

import time
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from metalwright.model.spec import CableSpec
from metalwright.planner.sheets import Neighbour, Turn, WorkSheet

UNIT_MM, RACK_MM = 1.95, 31.0
"""Height of a unit and width of a rack in the drawing: a rack of 48 units is as high as the text beside it."""
LONG = 14
"""Letters that fit in the large type of the place."""
MOST_CABLES = 16
"""More do not fit on the page; they are counted."""

SAY = {
    Turn.CONFIRM: "Let metalwright begin, on the admin host:",
    Turn.DO: "When it is done, on the admin host:",
    Turn.MEND: "When it is mended, on the admin host:",
    Turn.SAY: "It is seen done. Say who did it, on the admin host:",
}


def page(sheet: WorkSheet) -> str:
    """The whole document."""
    words = {
        "what": "Repair" if sheet.turn is Turn.MEND else "Work order",
        "number": sheet.ticket,
        "site": sheet.site,
        "made_at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(sheet.made_at)),
        "goal": sheet.goal,
        "depth": sheet.depth,
        "state": sheet.state,
        "title": sheet.title,
        "rack": sheet.rack,
        "unit": str(sheet.unit),
        "node": sheet.node,
        "serial": sheet.serial,
        "caution": sheet.caution,
        "step": str(sheet.step),
        "count": str(len(sheet.steps)),
    }
    parts = {
        "simulated": ' <span class="simulated">(simulated)</span>' if sheet.simulated else "",
        "attempt": f" <small>attempt {sheet.attempt}</small>" if sheet.attempt > 1 else "",
        "number_class": "" if len(sheet.ticket) <= LONG else " long",
        "node_class": ' class="long"' if len(sheet.node) > LONG else "",
        "serial_class": " long" if len(sheet.serial) > LONG else "",
        "steps": "".join(_step(sheet, number, title) for number, title in enumerate(sheet.steps, start=1)),
        "do": "".join(f"<li><i></i><em>{number}</em>{escape(line)}</li>" for number, line in enumerate(sheet.do, start=1)),
        "why": _paragraphs(sheet.why),
        "check": _paragraphs(sheet.check),
        "facts": "".join(
            f'<span class="label">{escape(label)}</span><span class="mono">{escape(value)}</span>' for label, value in sheet.facts
        ),
        "elevation": _elevation(sheet),
        "cables": _cables(sheet),
        "confirm": _confirm(sheet),
    }
    template = Template(files("metalwright.data").joinpath("work_order.html").read_text(encoding="utf-8"))
    return template.substitute({key: escape(text) for key, text in words.items()} | parts)


def _step(sheet: WorkSheet, number: int, title: str) -> str:
    place = "now" if number == sheet.step else "past" if number < sheet.step else ""
    return f'<span class="{place}">Step {number} of {len(sheet.steps)}: {escape(title)}</span>'


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _cables(sheet: WorkSheet) -> str:
    """The cable plan at this server in two columns; nothing where there is none."""
    if not sheet.cables:
        return ""
    shown = sheet.cables[:MOST_CABLES]
    half = -(-len(shown) // 2)
    more = len(sheet.cables) - MOST_CABLES
    rest = f'<p class="label">and {more} more in the cable plan</p>' if more > 0 else ""
    return f'<h2>Cables of this server</h2><div class="halves">{_table(shown[:half])}{_table(shown[half:])}</div>{rest}'


def _table(cables: Sequence[CableSpec]) -> str:
    head = "".join(f'<th class="label">{title}</th>' for title in ("Cable", "Port here", "Far end", "Length"))
    rows = "".join(
        f'<tr><td class="mono">{escape(cable.label)}</td><td class="mono">{escape(cable.a_port)}</td>'
        f'<td class="mono">{escape(cable.b_device)} · {escape(cable.b_port)}</td>'
        f"<td>{f'{cable.length_m:g} m' if cable.length_m else '–'}</td></tr>"
        for cable in cables
    )
    return f"<table><tr>{head}</tr>{rows}</table>" if cables else ""


def _confirm(sheet: WorkSheet) -> str:
    lines = (("wide", "Name"), ("", "Date and time"), ("wide", "Remarks"))
    sign = "".join(f'<span class="label {width}">{title}</span>' for width, title in lines)
    if sheet.turn is Turn.PROOF:
        return f'<section class="confirm">Done by {escape(sheet.by)}; the proof is awaited.</section>'
    said = f'<span class="label">{escape(SAY[sheet.turn])}</span><code class="mono">{escape(sheet.command)}</code>'
    return f'<section class="confirm">{said}<div class="sign">{sign}</div></section>'


# -- the rack ----------------------------------------------------------------------------------------------------------------


def _elevation(sheet: WorkSheet) -> str:
    """The rack from the front, this server marked: the lowest unit of each server is known, its height is not."""
    height = sheet.rack_units * UNIT_MM
    lines = [f'<rect x="7" y="1" width="{RACK_MM}" height="{height:g}" rx=".8" fill="none" stroke="#15181c" stroke-width=".5"/>']
    lines += [_tick(sheet, unit) for unit in range(1, sheet.rack_units + 1) if unit == 1 or unit % 5 == 0]
    lines += [_server(sheet, neighbour) for neighbour in sheet.neighbours if neighbour.unit <= sheet.rack_units]
    size = f'width="{RACK_MM + 8:g}mm" viewBox="0 0 {RACK_MM + 8:g} {height + 2:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="inherit">{"".join(lines)}</svg>'


def _top(sheet: WorkSheet, unit: int) -> float:
    return 1 + (sheet.rack_units - unit) * UNIT_MM


def _tick(sheet: WorkSheet, unit: int) -> str:
    middle = _top(sheet, unit) + UNIT_MM / 2
    return f'<text x="5.6" y="{middle + 0.8:.2f}" font-size="2" text-anchor="end" fill="#626b76">{unit}</text>'


def _server(sheet: WorkSheet, neighbour: Neighbour) -> str:
    is_this = neighbour.name == sheet.node
    fill, ink, weight = ("#15181c", "#ffffff", "700") if is_this else ("#eceff2", "#4a525c", "400")
    top = _top(sheet, neighbour.unit)
    shape = f'<rect x="7.6" y="{top + 0.12:.2f}" width="{RACK_MM - 1.2:g}" height="{UNIT_MM - 0.24:.2f}" rx=".4" fill="{fill}"/>'
    name = neighbour.name if len(neighbour.name) <= 18 else neighbour.name[:17] + "…"
    words = f'<text x="9" y="{top + 1.58:.2f}" font-size="1.75" font-weight="{weight}" fill="{ink}">{escape(name)}</text>'
    return shape + words
