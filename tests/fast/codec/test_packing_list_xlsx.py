"""The vendor's spreadsheet, as vendors send it: read with its own titles, and refused in words where it lies."""

import datetime
import io
import struct
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from metalwright.codec.site_folder import read_site
from tests.fast.codec.small_site import SITE, problems_of, write_site

MAPPING = (
    'purchase: {file: packing.xlsx, sheet: Shipped, columns: {serial: S/N, part: "Part No.", quantity: Qty, node_serial: In, kind: Type}}'
)
XLSX_SITE = SITE.replace("purchase: packing.csv", MAPPING)
LINE = XLSX_SITE.splitlines().index(MAPPING) + 1
TITLES = ("Line", "Part No.", "Type", "S/N", "Qty", "In")
ROWS: tuple[Sequence[Any], ...] = (
    (1, "SYS", "System", "MW0001", 1, None),
    (2, "SYS", "System", "MW0002", 1.0, None),
    (3, "GPU", "GPU", 1650001, 1, "MW0001"),
    (4, "CABLE", None, None, 12, None),
)


def workbook(rows: Sequence[Sequence[Any]] = ROWS, *, change: Callable[[Any], None] | None = None) -> bytes:
    """A workbook with a cover sheet and the list below a blank row, as bytes."""
    book = openpyxl.Workbook()
    book.active.title = "Cover"
    sheet = book.create_sheet("Shipped")
    sheet.append([])
    for row in (TITLES, *rows):
        sheet.append(row)
    if change is not None:
        change(sheet)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def write(folder: Path, data: bytes, site: str = XLSX_SITE) -> Path:
    return write_site(folder, {"site.yaml": site, "packing.csv": None, "packing.xlsx": data})


def test_the_vendors_list_means_the_same_as_ours(tmp_path: Path) -> None:
    """Own titles, more columns, a blank row, numbers as numbers: the same spec and digest as the CSV."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    stored = read_site(write(tmp_path / "a", workbook()))
    assert stored.digest == read_site(write_site(tmp_path / "b")).digest
    assert [line.line for line in stored.spec.purchase] == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda sheet: sheet.cell(3, 4, "=A1"), ("cell D3", "a formula", "paste the values")),
        (lambda sheet: sheet.cell(3, 4, datetime.date(2026, 1, 1)), ("cell D3", "not text or a number", "format the column as text")),
        (lambda sheet: sheet.cell(3, 4, True), ("cell D3", "not text or a number")),
        (lambda sheet: sheet.cell(3, 4, 1234567890123456789), ("cell D3", "19 digits, rounded by the spreadsheet")),
        (lambda sheet: setattr(sheet.cell(3, 4, 42), "number_format", "000000"), ("cell D3", "leading zeros")),
        (lambda sheet: sheet.cell(3, 4, "MW\n0001"), ("line break",)),
        (lambda sheet: sheet.cell(3, 4, "@SUM(A1)"), ("a formula",)),
        (lambda sheet: sheet.cell(5, 5, 1.5), ("purchase[2].quantity", "expected a whole number")),
        (lambda sheet: setattr(sheet.cell(3, 2), "value", None), ("purchase[0].part", "the cell is empty")),
        (lambda sheet: sheet.cell(2, 4, "Serial"), ("no column `S/N`", "columns: In, Line")),
    ],
)
def test_a_bad_cell_is_named(change: Callable[[Any], None], words: tuple[str, ...], tmp_path: Path) -> None:
    """The problem carries the row of the sheet, and the cell where only the spreadsheet knows it."""
    found = problems_of(write(tmp_path, workbook(change=change)))
    assert found[0].file == str(tmp_path / "packing.xlsx")
    assert all(word in str(found[0]) for word in words), found[0]
    assert found[0].line in (2, 3, 5)


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ("purchase: packing.xlsx", "has 2 sheets"),
        ("purchase: {file: packing.xlsx, sheet: Shiped, columns: {part: a}}", "did you mean Shipped?"),
        ("purchase: {file: packing.xlsx, sheet: Shipped, columns: {serial: S/N}}", "column part is missing"),
        ("purchase: {file: packing.xlsx, sheet: Shipped, columns: {part: S/N, sn: Qty}}", "one of: kind, node_serial"),
        ("purchase: {sheet: Shipped}", "purchase.file"),
        ("purchase: {file: packing.pdf, columns: {}}", "purchase reads .csv or .xlsx files"),
        ("nodes: packing.xlsx", "nodes reads .csv files"),
    ],
)
def test_a_bad_mapping(mapping: str, words: str, tmp_path: Path) -> None:
    """Sheets and columns that are not there are told with those that are."""
    key = mapping.partition(":")[0]
    old = {"purchase": MAPPING, "nodes": "nodes: nodes.csv"}[key]
    found = problems_of(write(tmp_path, workbook(), XLSX_SITE.replace(old, mapping)))
    assert any(words in str(one) for one in found), "\n".join(map(str, found))


def _bomb() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", b"0" * (300 << 20))
    return data.getvalue()


def _many_parts() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for index in range(1500):
            archive.writestr(f"{index}.xml", b"")
    return data.getvalue()


def _understated(data: bytes) -> bytes:
    """The same workbook claiming that its sheet is 10 bytes long."""
    out = bytearray(data)
    place = out.find(b"PK\x01\x02")
    while place >= 0:
        length = struct.unpack_from("<H", out, place + 28)[0]
        if b"sheet2" in out[place + 46 : place + 46 + length]:
            struct.pack_into("<I", out, place + 24, 10)
        place = out.find(b"PK\x01\x02", place + 4)
    return bytes(out)


def _entities(data: bytes) -> bytes:
    """The workbook's sheet replaced by XML whose entities would expand to gigabytes."""
    entity = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 10))
    evil = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x0 "0123456789">{entity}]><worksheet>&x9;</worksheet>'
    source, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, evil if "sheet2" in name else source.read(name))
    return out.getvalue()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: b"Part,Serial\n", "is not an XLSX workbook"),
        (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500, "old .xls or a password-protected"),
        (lambda: workbook()[:2000], "is not an XLSX workbook"),
        (lambda: b"PK\x03\x04" + b"\xff" * 500, "is not an XLSX workbook"),
        (_bomb, "zip bomb"),
        (_many_parts, "zip bomb"),
        (lambda: _understated(workbook()), "not a readable XLSX workbook"),
        (lambda: _entities(workbook()), "not a readable XLSX workbook"),
        (lambda: workbook().replace(b"PK\x01\x02", b"PK\x01\x03", 1), "is not an XLSX workbook"),
    ],
    ids=["csv", "xls", "cut", "noise", "bomb", "many", "understated", "entities", "directory"],
)
def test_a_workbook_that_is_none(make: Callable[[], bytes], words: str, tmp_path: Path) -> None:
    """Not a workbook, damaged, or built to blow up: one problem where it was named, soon."""
    data = make()
    started = time.process_time()
    (found,) = problems_of(write(tmp_path, data))
    assert words in found.message
    assert found.line == LINE
    assert time.process_time() - started < 5


def test_any_damaged_byte_is_read_or_refused(tmp_path: Path) -> None:
    """Damage anywhere in the file never escapes as another error."""
    data = workbook()
    refused = 0
    for place in range(0, len(data), 97):
        broken = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
        folder = tmp_path / str(place)
        folder.mkdir()
        try:
            read_site(write(folder, broken))
        except Exception as error:
            assert type(error).__name__ == "SpecError"
            refused += 1
    assert refused > 10
