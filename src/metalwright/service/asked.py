"""What people asked, read once each from the store: retries, and words about work orders."""

from collections.abc import Mapping

from metalwright.model.ids import Instant, OrderNumber, Subject
from metalwright.model.work import Confirmation
from metalwright.ports import Request, RequestStore

CONFIRM = "confirm"
"""Body of such a request: `order`, `step`, `attempt` (numbers), `says` (go, done), `by`, `note`."""


class Asked:
    """Grows with each request; a reader that starts anew reads them all again."""

    def __init__(self, store: RequestStore) -> None:
        self._store, self._after = store, 0
        self.retries: Mapping[Subject, Instant] = {}
        """When a person last said "try again", by subject."""
        self.confirmations: Mapping[OrderNumber, tuple[Confirmation, ...]] = {}

    async def refresh(self) -> None:
        """Read what was asked since."""
        for request in await self._store.asked(self._after):
            self._after = max(self._after, request.id)
            if request.kind == "retry":
                self.retries = {**self.retries, request.subject: request.made_at}
            elif request.kind == CONFIRM and (word := _confirmation(request)):
                self.confirmations = {**self.confirmations, word.order: (*self.confirmations.get(word.order, ()), word)}


def _confirmation(request: Request) -> Confirmation | None:
    """None for a body that is not one: nothing was confirmed then."""
    body, says = request.body, request.body.get("says")
    if says not in ("go", "done") or not body.get("by"):
        return None
    try:
        order, step, attempt = (int(body.get(key, "")) for key in ("order", "step", "attempt"))
    except ValueError:
        return None
    return Confirmation(
        order=OrderNumber(order),
        step=step,
        attempt=attempt,
        says="go" if says == "go" else "done",
        by=body["by"],
        at=request.made_at,
        note=body.get("note", ""),
    )
