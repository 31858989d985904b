"""A cable plan by itself, without the site around it."""

from pathlib import Path

from metalwright.codec.draft import Draft
from metalwright.codec.network_references import check_cables
from metalwright.codec.notebook import Notebook
from metalwright.codec.site_files import SiteFiles
from metalwright.codec.table_parts import PurchaseFile, read_table_part
from metalwright.model.spec import CableSpec


def read_cable_plan(file: Path) -> tuple[CableSpec, ...]:
    """The cables of a CSV file. SpecError with every problem: a cable with one end, a port used twice, a label given twice."""
    book, draft = Notebook(), Draft()
    read_table_part("cables", PurchaseFile(file=file.name), SiteFiles(file.parent), book, draft)
    draft.unsure.add("fabrics")  # they are declared in a site
    check_cables(draft, book)
    book.close()
    return tuple(cable for _, cable in draft.each("cables", CableSpec))
