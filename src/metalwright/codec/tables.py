"""CSV → rows of text cells with their lines. Comma, semicolon or tab, as spreadsheets write them; `#` lines are comments."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from metalwright.codec.site_files import TABLE_LIMIT, FileRefused, SiteFiles, decode_text

MOST_ROWS = 400_000
MOST_COLUMNS = 64
MOST_CELL = 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NUMBER = re.compile(r"[+-][0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: its number from 1 and its cells, in the order of the header."""

    line: int
    cells: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProblem:
    """A cell that is not read."""

    line: int
    column: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A header and the rows below it; bad cells are emptied and told."""

    header_line: int
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[CellProblem, ...] = ()


def read_csv(files: SiteFiles, name: str) -> Table:
    """FileRefused when it is no table at all."""
    text = decode_text(name, files.read(name, TABLE_LIMIT), byte_order_mark=True)
    if text.startswith("PK\x03\x04"):
        raise FileRefused(f"{name} is a spreadsheet, not CSV", "name it .xlsx, or export it as CSV")
    if "\x00" in text:
        raise FileRefused(f"{name} holds a NUL character", "export it again as CSV in UTF-8")
    lines = _records(name, text)
    if not lines:
        raise FileRefused(f"{name} has no header", "the first line names the columns")
    return make_table(lines[0], lines[1:], is_plain=_is_plain(text))


def _records(name: str, text: str) -> list[Row]:
    start = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    delimiter = max(",;\t", key=start.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found: list[Row] = []
    line = 1
    try:
        for cells in reader:
            if "".join(cells).strip() and not cells[0].startswith("#"):
                found.append(Row(line=line, cells=cells))
            line = reader.line_num + 1
            if len(found) > MOST_ROWS:
                raise FileRefused(f"{name} has more than {MOST_ROWS:,} rows", "split the purchase by delivery")
    except csv.Error as error:
        raise FileRefused(
            f"{name} is not CSV near line {line}: {error}", "check the quotes; a cell is at most 131,072 characters"
        ) from error
    return found


_SUSPICIOUS = re.compile(r"(?:^|[,;\t\"\n])[ \t]*[=@+-]|[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]|\"[^\"\n]*\n|[^\n]{1000}")


def _is_plain(text: str) -> bool:
    """One look at the whole text that spares a look at each of 100,000 cells; a false alarm only costs time."""
    return _SUSPICIOUS.search(text) is None


def make_table(header: Row, rows: Sequence[Row], *, is_plain: bool = False) -> Table:
    """Cells stripped and checked: formulas and control characters are told and emptied, too many cells in a row too."""
    names = tuple(cell.strip() for cell in header.cells)[:MOST_COLUMNS]
    problems: list[CellProblem] = []
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        problems.append(CellProblem(line=header.line, column=name, message=f"column {name} twice", hint="rename one of them"))
    clean = tuple(_clean(row, names, problems, is_plain) for row in rows)
    return Table(header_line=header.line, header=names, rows=clean, problems=tuple(problems))


def _clean(row: Row, names: tuple[str, ...], problems: list[CellProblem], is_plain: bool) -> Row:
    cells = [cell.strip() for cell in row.cells]
    if len(cells) > len(names) and any(cells[len(names) :]):
        message, hint = f"{len(cells)} cells under {len(names)} columns", "quote a cell that holds the separator"
        problems.append(CellProblem(line=row.line, column="", message=message, hint=hint))
    if is_plain:
        return Row(line=row.line, cells=cells)
    for place, cell in enumerate(cells[: len(names)]):
        message, hint = _bad(cell)
        if message:
            problems.append(CellProblem(line=row.line, column=names[place], message=message, hint=hint))
            cells[place] = ""
    return Row(line=row.line, cells=cells)


_LEADING = frozenset("=@+-")


def _bad(cell: str) -> tuple[str, str]:
    if len(cell) > MOST_CELL:
        return f"a cell of {len(cell):,} characters", f"at most {MOST_CELL:,} are read"
    if _CONTROL.search(cell):
        return "a cell with a line break or control character", "keep one line per cell"
    if cell[:1] in _LEADING and not _NUMBER.fullmatch(cell):
        return f"a formula: {cell[:40]}", "paste the values instead of the formulas; no value starts with = + - @"
    return "", ""
