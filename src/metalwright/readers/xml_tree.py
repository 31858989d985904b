"""XML → a plain tree, bounded, without entities, and as far as it goes: a document that breaks off gives what was whole until there."""

from dataclasses import dataclass, field
from xml.parsers import expat

MAX_DEPTH, MAX_NODES, MAX_TEXT = 64, 400_000, 4096


@dataclass(slots=True)
class Element:
    """One element; `text` without outer blanks."""

    name: str
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)
    text: str = ""
    is_whole: bool = False
    """Its end was seen."""

    def child(self, name: str) -> "Element | None":
        """The first child of that name."""
        return next((child for child in self.children if child.name == name), None)


class _Stop(Exception):
    """Leaves the parser from inside a callback."""


class _Builder:
    def __init__(self) -> None:
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.nodes = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(self.stack) >= MAX_DEPTH:
            raise _Stop("the document is larger or deeper than any real one")
        element = Element(name=name, attributes={each: value[:MAX_TEXT] for each, value in attributes.items()})
        if self.stack:
            self.stack[-1].children.append(element)
        elif self.root is None:
            self.root = element
        self.stack.append(element)

    def end(self, _: str) -> None:
        element = self.stack.pop()
        element.text = element.text.strip()
        element.is_whole = True

    def text(self, text: str) -> None:
        if self.stack and len(self.stack[-1].text) < MAX_TEXT:
            self.stack[-1].text += text

    def entity(self, *_: object) -> None:
        raise _Stop("the document declares entities, which no tool's output does")


def read_tree(text: str) -> tuple[Element | None, str]:
    """The root, and why the document is not whole; the reason is empty for a whole one."""
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.EntityDeclHandler = builder.entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        return builder.root, f"broken XML: {error}"
    except _Stop as error:
        return builder.root, str(error)
    return builder.root, ""
