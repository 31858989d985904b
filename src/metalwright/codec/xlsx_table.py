"""The vendor's spreadsheet (XLSX) → rows of text cells. Values only: formulas, dates and rounded serials are refused with the cell.

An XLSX is a zip of XML from a stranger: entries, unpacked size and ratio are bounded before anything is unpacked.
"""

import importlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import ParseError

from metalwright.codec.notebook import did_you_mean
from metalwright.codec.site_files import TABLE_LIMIT, FileRefused, SiteFiles
from metalwright.codec.tables import MOST_COLUMNS, MOST_ROWS, CellProblem, Row, Table, make_table

MOST_ENTRIES = 1000
MOST_UNPACKED = 256 << 20
MOST_RATIO = 200
_BROKEN = (zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, TypeError, AttributeError, IndexError, OSError, EOFError)
"""What openpyxl lets out on a damaged file; NotImplementedError and RuntimeError come from unknown or encrypted zip entries."""
_NOT_XLSX = "open it in a spreadsheet program and save it as Excel workbook (.xlsx), or export CSV"


def read_xlsx(files: SiteFiles, name: str, sheet: str | None) -> Table:
    """The named sheet, or the only one. FileRefused when it is no usable workbook."""
    data = files.read(name, TABLE_LIMIT)
    _refuse_bomb(name, data)
    # openpyxl costs 0.1 s and more to import: only who has a spreadsheet pays.
    openpyxl = importlib.import_module("openpyxl")
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=False, keep_links=False)
        worksheet = _sheet(name, book, sheet)
        problems: list[CellProblem] = []
        rows = list(_rows(name, worksheet, problems))
    except (*_BROKEN, NotImplementedError, RuntimeError) as error:
        raise FileRefused(f"{name} is not a readable XLSX workbook ({type(error).__name__})", _NOT_XLSX) from error
    if not rows:
        raise FileRefused(f"{name} has no header", "the first row that is not empty names the columns")
    table = make_table(rows[0], rows[1:])
    return Table(header_line=table.header_line, header=table.header, rows=table.rows, problems=(*problems, *table.problems))


def _refuse_bomb(name: str, data: bytes) -> None:
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileRefused(f"{name} is an old .xls or a password-protected workbook", _NOT_XLSX)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
        raise FileRefused(f"{name} is not an XLSX workbook", _NOT_XLSX) from error
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_ENTRIES or unpacked > MOST_UNPACKED or (unpacked > 1 << 20 and unpacked > MOST_RATIO * len(data)):
        message = f"{name} unpacks to {unpacked >> 20:,} MiB in {len(entries):,} parts: it looks like a zip bomb"
        raise FileRefused(message, "ask the vendor for a plain list, or export CSV")


def _sheet(name: str, book: Any, wanted: str | None) -> Any:
    titles: list[str] = list(book.sheetnames)
    if wanted is None and len(titles) == 1:
        return book[titles[0]]
    if wanted is None:
        raise FileRefused(f"{name} has {len(titles)} sheets", did_you_mean("", titles, "name one with `sheet:`; sheets"))
    if wanted not in titles:
        raise FileRefused(f"{name} has no sheet `{wanted[:60]}`", did_you_mean(wanted, titles, "sheets"))
    return book[wanted]


def _rows(name: str, worksheet: Any, problems: list[CellProblem]) -> Iterator[Row]:
    if not hasattr(worksheet, "iter_rows"):
        raise FileRefused(f"{name}: the sheet is a chart, not a table", "name the sheet with the list by `sheet:`")
    worksheet.reset_dimensions()  # The file's own claim of its size is not believed.
    for line, cells in enumerate(worksheet.iter_rows(max_col=MOST_COLUMNS), start=1):
        if line > MOST_ROWS:
            raise FileRefused(f"{name} has more than {MOST_ROWS:,} rows", "split the purchase by delivery")
        texts = [_text(cell, line, problems) for cell in cells]
        while texts and not texts[-1]:
            texts.pop()
        if texts and not texts[0].startswith("#"):
            yield Row(line=line, cells=texts)


def _text(cell: Any, line: int, problems: list[CellProblem]) -> str:
    value, kind = cell.value, getattr(cell, "data_type", "n")
    if value is None:
        return ""
    if kind in ("s", "inlineStr"):
        return str(value)
    if kind == "f" or (isinstance(value, str) and value.startswith("=")):
        return _refuse(cell, line, problems, "a formula", "paste the values instead of the formulas")
    if isinstance(value, bool) or kind in ("d", "e", "b"):
        return _refuse(
            cell, line, problems, f"not text or a number: {str(value)[:40]}", "format the column as text and type the value again"
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return _whole(cell, value, line, problems)
    return str(value)


def _whole(cell: Any, value: int, line: int, problems: list[CellProblem]) -> str:
    """A number is only what was typed if nothing was rounded (15 digits) and no leading zeros were shown by a format."""
    if abs(value) >= 10**15:
        return _refuse(
            cell, line, problems, f"a number of {len(str(abs(value)))} digits, rounded by the spreadsheet", "format the column as text"
        )
    if str(getattr(cell, "number_format", "General")).startswith("00"):
        return _refuse(
            cell, line, problems, "a number that only a format shows with leading zeros", "format the column as text and type it again"
        )
    return str(value)


def _refuse(cell: Any, line: int, problems: list[CellProblem], message: str, hint: str) -> str:
    problems.append(
        CellProblem(line=line, column=str(getattr(cell, "column_letter", "")), message=f"cell {cell.coordinate}: {message}", hint=hint)
    )
    return ""
