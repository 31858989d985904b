"""One regular expression for thousands of words: a tree of their letters, so that each place of a text is looked at once. Pure."""

import re
from collections.abc import Iterable

Tree = dict[str, "Tree"]
_END = ""


def any_of(words: Iterable[str], flags: re.RegexFlag = re.NOFLAG, *, bounded: bool = False) -> re.Pattern[str] | None:
    """A pattern that finds the longest of the words at each place; `bounded`: not inside longer words. None for no words."""
    tree: Tree = {}
    for word in words:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
        node[_END] = {}
    if not tree:
        return None
    source = _source(tree)
    return re.compile(rf"(?<![A-Za-z0-9]){source}(?![A-Za-z0-9])" if bounded else source, flags)


def _source(tree: Tree) -> str:
    """Longest first: the rest of a word is tried before its end."""
    run = ""
    while len(tree) == 1 and _END not in tree:
        letter, tree = next(iter(tree.items()))
        run += re.escape(letter)
    branches = "|".join(re.escape(letter) + _source(node) for letter, node in tree.items() if letter != _END)
    if not branches:
        return run
    return f"{run}(?:{branches}){'?' if _END in tree else ''}"
