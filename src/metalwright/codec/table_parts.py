"""Lists that stand in tables: nodes, cables, firmware, and the vendor's packing list with its own column names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from metalwright.codec.annotations import keys_of
from metalwright.codec.draft import Draft
from metalwright.codec.notebook import Notebook, Place, did_you_mean, quote
from metalwright.codec.shapes import decode_rows
from metalwright.codec.site_files import FileRefused, SiteFiles
from metalwright.codec.tables import Row, Table, read_csv
from metalwright.codec.xlsx_table import read_xlsx
from metalwright.model.spec import CableSpec, FirmwareLine, NodeSpec, PurchaseLine
from metalwright.model.units import Words

CSV_PARTS: Mapping[str, Any] = {"nodes": NodeSpec, "purchase": PurchaseLine, "cables": CableSpec, "firmware": FirmwareLine}
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "nodes": ("name", "rack", "unit", "profile", "serial", "bmc", "boot_mac"),
    "purchase": ("part",),
    "cables": ("label", "a_device", "a_port", "b_device", "b_port", "fabric"),
    "firmware": ("profile", "component", "version"),
}
PurchaseField = Literal["part", "serial", "quantity", "node_serial", "kind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseFile:
    """The vendor's packing list as it came: a CSV or XLSX file, its sheet, and which column holds what."""

    file: Words
    sheet: Words | None = None
    columns: Mapping[PurchaseField, Words] = field(default_factory=dict)
    """Field → the vendor's column title, such as `serial: "S/N"`."""


def read_table_part(key: str, source: PurchaseFile, files: SiteFiles, book: Notebook, draft: Draft) -> None:
    """Entries of a table into the draft; every problem with its line."""
    try:
        table = _table(key, source, files)
    except FileRefused as refused:
        draft.unsure.add(key)
        book.blame((key,), refused.message, refused.hint)
        return
    if table.problems:
        draft.unsure.add(key)
    shown = files.shown(source.file)
    for problem in table.problems:
        book.blame_place(Place(shown, problem.line), problem.message, problem.hint, (key, problem.column) if problem.column else (key,))
    fields = _fields(key, source, table, book, shown)
    told = {problem.line for problem in table.problems}
    rows = [row for row in table.rows if row.line not in told]
    if fields is None:
        draft.unsure.add(key)
    else:
        book.places[(key,)] = Place(shown, 0)
        for index, row in enumerate(rows):
            book.places[(key, index)] = Place(shown, row.line)
        _keep(key, _cells(key, rows, fields), book, draft)


def _table(key: str, source: PurchaseFile, files: SiteFiles) -> Table:
    suffix = source.file.lower().rpartition(".")[2]
    if suffix == "xlsx" and key == "purchase":
        return read_xlsx(files, source.file, source.sheet)
    if suffix in ("csv", "tsv"):
        return read_csv(files, source.file)
    kinds = ".csv or .xlsx" if key == "purchase" else ".csv or .yaml" if key == "firmware" else ".csv"
    raise FileRefused(f"{source.file} is of a kind that is not read here", f"{key} reads {kinds} files")


def _fields(key: str, source: PurchaseFile, table: Table, book: Notebook, shown: str) -> list[str | None] | None:
    """For each column, the field it holds; None when a required column is missing."""
    known = [name for name in keys_of(CSV_PARTS[key]) if name != "line"]
    header = Place(shown, table.header_line)
    mapped: dict[str, str] = {str(name): title for name, title in source.columns.items()}
    wanted = mapped or {name: name for name in known}
    for name, title in mapped.items():
        if title not in table.header:
            hint = did_you_mean(title, filter(None, table.header), "columns")
            book.blame_place(header, f"no column {quote(title)}", hint, (key, "columns", name))
    fields = {title: name for name, title in wanted.items()}
    if not mapped:
        for title in table.header:
            if title and title not in known:
                book.blame_place(header, f"unknown column {quote(title)}", _column_hint(key, title, known), (key,))
    missing = [name for name in REQUIRED[key] if wanted.get(name) not in table.header]
    for name in missing:
        if name not in mapped:
            book.blame_place(header, f"column {name} is missing", _missing_hint(key, name), (key,))
    return None if missing else [fields.get(title) for title in table.header]


def _column_hint(key: str, title: str, known: Sequence[str]) -> str:
    more = "; map the vendor's titles with purchase: {file: …, columns: {serial: …}}" if key == "purchase" else ""
    return did_you_mean(title, known, "columns") + more


def _missing_hint(key: str, name: str) -> str:
    if key == "purchase":
        return f"say which column it is: purchase: {{file: …, columns: {{{name}: …}}}}"
    return f"required columns: {', '.join(REQUIRED[key])}"


def _cells(key: str, rows: Sequence[Row], fields: Sequence[str | None]) -> list[dict[str, str]]:
    found = [{name: cell for name, cell in zip(fields, row.cells, strict=False) if name and cell} for row in rows]
    if key == "purchase":
        for row, cells in zip(rows, found, strict=True):
            cells["line"] = str(row.line)
            if "kind" in cells:
                cells["kind"] = cells["kind"].lower()
    return found


def _keep(key: str, cells: Sequence[dict[str, str]], book: Notebook, draft: Draft) -> None:
    whole: list[dict[str, str]] = []
    numbers: list[int] = []
    for index, row_cells in enumerate(cells):
        if key == "cables" and _has_one_end(row_cells, index, book):
            continue
        draft.remember(key, row_cells)
        whole.append(row_cells)
        numbers.append(index)
    kept = draft.items.setdefault(key, [])
    for position, value in decode_rows(CSV_PARTS[key], whole, numbers, (key,), book):
        kept.append(((key, position), value))


def _has_one_end(cells: Mapping[str, str], index: int, book: Notebook) -> bool:
    for here, there in (("a", "b"), ("b", "a")):
        empty = [name for name in (f"{here}_device", f"{here}_port") if name not in cells]
        if empty and f"{there}_device" in cells:
            message = f"cable {quote(cells.get('label', '?'))} has one end only: {' and '.join(empty)} empty"
            book.blame(("cables", index, empty[0]), message, "give the device and the port of both ends")
            return True
    return False
