"""Where everything of the site folder stands, and what is wrong with it: all problems are collected, then told at once."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from metalwright.model.errors import Problem, SpecError

SpecPath = tuple[str | int, ...]
"""Path inside the spec: `("racks", 0, "feeds", 1, "kw")`."""
MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; `line` counts from 1."""

    file: str
    line: int


@dataclass(slots=True)
class Notebook:
    """Collects places and problems while one folder is read."""

    places: dict[SpecPath, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: SpecPath) -> Place:
        """The place of a path, or of the nearest thing around it that has one."""
        for length in range(len(path), -1, -1):
            found = self.places.get(path[:length])
            if found is not None:
                return found
        return Place("site.yaml", 0)

    def blame(self, path: SpecPath, message: str, hint: str) -> None:
        """Something of the spec is wrong."""
        self.blame_place(self.place(path), message, hint, path)

    def blame_place(self, place: Place, message: str, hint: str, path: SpecPath = ()) -> None:
        """Something at a place is wrong."""
        self.problems.append(Problem(file=place.file, line=place.line, path=show_path(path), message=message, hint=hint))

    def close(self) -> None:
        """Raise what was collected, in the order of the files; a flood is cut with its size."""
        if not self.problems:
            return
        ordered = sorted(set(self.problems), key=lambda problem: (problem.file, problem.line, problem.path, problem.message))
        shown, more = ordered[:MOST_PROBLEMS], len(ordered) - MOST_PROBLEMS
        if more > 0:
            hint = "correct the ones above first: many often have one cause"
            shown.append(Problem(file=shown[-1].file, line=0, path="", message=f"{more} more problems are not shown", hint=hint))
        raise SpecError(tuple(shown))


def show_path(path: SpecPath) -> str:
    """`racks[0].feeds[1].kw`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def did_you_mean(word: str, known: Iterable[str], what: str) -> str:
    """A hint that names the likeliest meant word, then all there are."""
    names = sorted(set(known))
    if not names:
        return f"{what}: none"
    close = get_close_matches(word, names, n=1, cutoff=0.6)
    listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return (f"did you mean {close[0]}? " if close else "") + f"{what}: {listed}"


def quote(text: object, most: int = 60) -> str:
    """A value in a message: bounded, one line, no control characters."""
    shown = ascii(text) if isinstance(text, str) and not text.isprintable() else str(text)
    return f"`{shown[:most]}…`" if len(shown) > most else f"`{shown}`"
