"""The tables of a scaffold as files: CSV text, and a workbook as a vendor sends it."""

import csv
import importlib
import io
from collections.abc import Iterable, Sequence

from metalwright.codec.scaffold_cables import CableRow
from metalwright.codec.scaffold_rows import NodeRow, PartRow

SHEET = "Shipped"
VENDOR_TITLES = ("Part No.", "Type", "Qty", "S/N", "Parent S/N")
"""Titles of the example workbook; the templates map them under `purchase.columns`."""


def nodes_csv(rows: Iterable[NodeRow]) -> str:
    """nodes.csv."""
    header = ("name", "rack", "unit", "profile", "serial", "bmc", "boot_mac")
    return _csv(header, ((row.name, row.rack, row.unit, "compute", row.serial, row.bmc, row.boot_mac) for row in rows))


def cables_csv(rows: Iterable[CableRow]) -> str:
    """cables.csv."""
    header = ("label", "a_device", "a_port", "b_device", "b_port", "fabric", "length_m")
    return _csv(header, ((row.label, row.a_device, row.a_port, row.b_device, row.b_port, "compute", row.length_m) for row in rows))


def packing_csv(rows: Iterable[PartRow]) -> str:
    """packing-list.csv, its columns named as the fields."""
    return _csv(("part", "serial", "kind", "node_serial"), ((row.part, row.serial, row.kind, row.node_serial) for row in rows))


def packing_xlsx(rows: Iterable[PartRow]) -> bytes:
    """packing-list.xlsx, its columns named as a vendor would."""
    openpyxl = importlib.import_module("openpyxl")  # 0.1 s: only the kinds with a workbook pay
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = SHEET
    sheet.append(VENDOR_TITLES)
    for row in rows:
        sheet.append((row.part, row.kind.upper(), 1, row.serial, row.node_serial or None))
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
