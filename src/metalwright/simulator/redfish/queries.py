"""`$expand`, `$select`, `$top`, `$skip` and `only` (DSP0266 7.3), and pages of long collections."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from metalwright.simulator.redfish.answers import refuse
from metalwright.simulator.redfish.documents import Document

PAGE = 50
"""Members per page; real BMCs send 50 or 75, and clients that ignore the next link lose the rest."""
_MAX_LEVELS = 2
_KNOWN = {"$expand", "$select", "$top", "$skip", "only"}

Lookup = Callable[[str], Document | None]


def parse(query_string: str) -> dict[str, str]:
    """The parameters of a GET. Unknown ones with `$` are refused; others are ignored, as the specification says."""
    parameters = dict(parse_qsl(query_string, keep_blank_values=True))
    for name in parameters:
        if name.startswith("$") and name not in _KNOWN:
            raise refuse(501, "QueryParameterUnsupported", name)
    return parameters


def apply(document: Document, parameters: dict[str, str], lookup: Lookup) -> Document:
    """The document as the query wants it."""
    is_collection = "Members" in document
    if "only" in parameters:
        if parameters["only"]:
            raise refuse(400, "QueryParameterValueFormatError", parameters["only"], "only")
        if not is_collection:
            raise refuse(400, "QueryNotSupportedOnResource")
        if len(document["Members"]) == 1:
            document = lookup(document["Members"][0]["@odata.id"]) or document
            is_collection = False
    if is_collection:
        document = _page(document, parameters)
    if "$expand" in parameters:
        document = _expand(document, parameters["$expand"], lookup)
    if "$select" in parameters:
        document = _select(document, parameters["$select"])
    return document


def _page(document: Document, parameters: dict[str, str]) -> Document:
    skip = _count(parameters, "$skip", 0)
    top = min(_count(parameters, "$top", PAGE), PAGE)
    members = document["Members"]
    end = skip + top
    paged = document | {"Members": members[skip:end]}
    if end < len(members):
        more = f"&$top={top}" if "$top" in parameters else ""
        paged["Members@odata.nextLink"] = f"{document['@odata.id']}?$skip={end}{more}"
    return paged


def _count(parameters: dict[str, str], name: str, default: int) -> int:
    text = parameters.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise refuse(400, "QueryParameterValueFormatError", text, name)
    return int(text)


def _expand(document: Document, option: str, lookup: Lookup) -> Document:
    """`.` subordinate, `~` in Links, `*` both; `($levels=n)` as far as announced."""
    mark, _, rest = option.partition("(")
    levels = 1
    if rest:
        number = rest.removesuffix(")").removeprefix("$levels=")
        if not number.isascii() or not number.isdigit() or not 1 <= int(number[:3]) <= _MAX_LEVELS:
            raise refuse(400, "QueryParameterValueFormatError", option, "$expand")
        levels = int(number)
    if mark not in {".", "~", "*"}:
        raise refuse(400, "QueryParameterValueFormatError", option, "$expand")
    return _expanded(document, mark, levels, lookup)


def _expanded(document: Document, mark: str, levels: int, lookup: Lookup) -> Document:
    result: Document = {}
    for name, value in document.items():
        wanted = mark == "*" or (mark == "~") == (name == "Links")
        result[name] = _follow(value, mark, levels, lookup) if wanted and not name.startswith("@") else value
    return result


def _follow(value: Any, mark: str, levels: int, lookup: Lookup) -> Any:
    match value:
        case {"@odata.id": str(path), **others} if not others:
            found = lookup(path.rstrip("/"))
            if found is None:
                return value
            if "Members" in found:
                found = _page(found, {})
            return _expanded(found, mark, levels - 1, lookup) if levels > 1 else found
        case dict():
            return {name: _follow(each, mark, levels, lookup) for name, each in value.items()}
        case list():
            return [_follow(each, mark, levels, lookup) for each in value]
        case _:
            return value


def _select(document: Document, wanted: str) -> Document:
    """Named properties and what makes the resource a resource; only top-level names are honoured."""
    names = {name.strip().split("/")[0] for name in wanted.split(",")}
    always = {"@odata.id", "@odata.type", "@odata.etag", "Id", "Name", "Members", "Members@odata.count", "Members@odata.nextLink"}
    return {name: value for name, value in document.items() if name in names | always}
