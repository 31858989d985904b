"""Things that may be there once: the second one is told with the line of the first."""

from collections.abc import Hashable

from metalwright.codec.notebook import Notebook, SpecPath, quote


class Once:
    """Remembers where each key was first seen."""

    def __init__(self, what: str, book: Notebook) -> None:
        self._what = what
        self._book = book
        self._first: dict[Hashable, SpecPath] = {}

    def add(self, key: Hashable, path: SpecPath, shown: str, *, hint: str) -> None:
        """Note one; a second with the same key is a problem at its own line."""
        first = self._first.setdefault(key, path)
        if first != path:
            line = self._book.place(first).line
            self._book.blame(path, f"{self._what} {quote(shown)} is already used in line {line}", hint)
