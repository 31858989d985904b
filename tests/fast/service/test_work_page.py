"""The printed work order: complete, self-contained, and safe whatever the texts are."""

from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.planner.sheets import Neighbour, WorkSheet, sheet_of
from metalwright.service.work_page import page
from tests.fast.planner.test_by_hand import in_hand

VOID = {"meta"}


class Tags(HTMLParser):
    """Every element opened, and those never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(html: str) -> Tags:
    read = Tags()
    read.feed(html)
    return read


def sheet() -> WorkSheet:
    found = sheet_of(in_hand())
    assert found is not None
    return found


def test_everything_on_the_sheet_is_on_the_page() -> None:
    """Place, serial, each line, the caution, why, how it is checked, the command."""
    made, html = sheet(), page(sheet())
    for words in (made.rack, made.serial, made.node, made.caution, made.command, *made.do, *made.why, *made.check):
        assert words.replace("'", "&#x27;") in html
    assert not tags(html).open


def test_nothing_is_fetched() -> None:
    """No script, no image, no link: a page from a file looks the same on every machine."""
    read = tags(page(sheet()))
    assert not {"script", "img", "link", "iframe", "object"} & {tag for tag, _ in read.opened}
    assert not any({"src", "href", "onclick"} & attributes.keys() for _, attributes in read.opened)


@settings(deadline=None, max_examples=15)
@given(words=st.text(alphabet="<>&\"'$ a{}\n", max_size=30))
def test_no_text_becomes_markup(words: str) -> None:
    """Names of drives, notes and reasons are texts: the elements of the page are the same for all of them."""
    made = sheet()
    hostile = replace(
        made,
        node=words,
        serial=words,
        caution=words,
        do=(words,),
        why=(words,),
        check=(words,),
        neighbours=(Neighbour(name=words, unit=1),),
    )
    plain = replace(made, node="a", serial="a", caution="a", do=("a",), why=("a",), check=("a",), neighbours=(Neighbour(name="a", unit=1),))
    assert [tag for tag, _ in tags(page(hostile)).opened] == [tag for tag, _ in tags(page(plain)).opened]
