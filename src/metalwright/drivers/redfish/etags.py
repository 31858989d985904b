"""PATCH with the ETag form that this BMC wants: some refuse without If-Match (Q15), some with the very ETag they gave (Q16)."""

from metalwright.drivers.redfish.client import Answer, Document, RedfishClient
from metalwright.drivers.redfish.knowledge import Knowledge

_REFUSED = (412, 428)
Rung = int
"""Which form worked: 0 header as given, 1 `@odata.etag` of the body, 2 strong form, 3 `*`, 4 no If-Match."""


class EtagLadder:
    """Tries the forms in order and begins with the one that worked last."""

    def __init__(self, known: Knowledge) -> None:
        self._known = known

    async def patch(self, client: RedfishClient, path: str, body: Document) -> Answer:
        """The BMC's last answer. The resource is read first, singly: members of a collection lack their ETag (Q18)."""
        current = await client.get(path)
        forms = _forms(current)
        order = [self._known.etag_rung, *(rung for rung in range(len(forms)) if rung != self._known.etag_rung)]
        answer = Answer(428, {})
        tried: set[str | None] = set()
        for rung in order:
            form = forms[rung]
            if form in tried or form == "":
                continue
            tried.add(form)
            answer = await client.ask("PATCH", path, body, f"If-Match: {form}\r\n" if form else "")
            if answer.status not in _REFUSED:
                self._known.etag_rung = rung
                return answer
        return answer


def _forms(current: Answer) -> tuple[str | None, ...]:
    """The five forms; an empty text means that this form does not exist here."""
    header = _plain(current.headers.get(b"etag", b"").decode("latin-1"))
    inside = _plain(current.document.get("@odata.etag"))
    strong = (header or inside).removeprefix("W/")
    return (header, inside, strong, "*", None)


def _plain(value: object) -> str:
    """An ETag that can be a header value; `""` (an empty ETag in quotes) counts as none (Q16)."""
    text = value.strip() if isinstance(value, str) else ""
    return text if text.isprintable() and text.isascii() and text not in ('""', 'W/""') else ""
