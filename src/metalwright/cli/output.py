"""How verbs speak: JSON when asked, else plain words; colours only on a terminal."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

COLOURS = {"green": "green", "red": "bold red", "undetermined": "yellow", "waived": "cyan", "–": "dim"}
WORDS = {"green": "green", "red": "RED", "undetermined": "undetermined", "waived": "waived"}


PIPE_COLUMNS = 240
"""A file or another program has no width: a table is not squeezed for it."""


def console() -> Console:
    """Standard output; plain text when it is not a terminal, and never wrapped in the middle of a word of a log."""
    terminal = sys.stdout.isatty()
    return Answer(file=sys.stdout, highlight=False, emoji=False, soft_wrap=not terminal, width=None if terminal else PIPE_COLUMNS)


class Answer(Console):
    """Whom nobody reads says so like every other verb; rich would exit with 1, and 1 is a red verdict."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A borderless table in the style of the board."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, column in enumerate(columns):
        is_last = number == len(columns) - 1  # the words: they alone may be broken into lines
        width = max([len(column), *(len(row[number]) for row in rows)])
        made.add_column(column, no_wrap=not is_last, min_width=None if is_last else width, overflow="fold")
    for row in rows:
        made.add_row(*(f"[{COLOURS[cell.lower()]}]{cell}[/]" if cell.lower() in COLOURS else _safe(cell) for cell in row))
    return made


def _safe(text: str) -> str:
    """Texts of BMCs and files are never markup."""
    return text.replace("[", "\\[")
