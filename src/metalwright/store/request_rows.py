"""`RequestStore`: what people asked. Rows are only ever appended; turns read them."""

import json
import math
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, RowMapping, bindparam, select, update

from metalwright.model.case import Waiver
from metalwright.model.errors import InputError
from metalwright.model.ids import Instant, Subject
from metalwright.ports import Request
from metalwright.store.part import Part
from metalwright.store.statements import Least
from metalwright.store.tables import requests, subjects

WAIVE = "waive"
WAIVER_KEYS = ("check", "until", "by", "reason")
"""Body of a `waive` request, written after its signature was verified; `until` in seconds since 1970."""
_WAIVER_HINT = f"its body needs {', '.join(WAIVER_KEYS)}, with until in seconds since 1970"

_ASK = requests.insert().returning(requests.c.id)
_AFTER = select(requests).where(requests.c.id > bindparam("after")).order_by(requests.c.id)
_WAIVED = select(requests).where(requests.c.kind == WAIVE).order_by(requests.c.id)
_WAKE_ALL = (
    update(subjects)
    .where(
        subjects.c.is_active,
        (subjects.c.subject == bindparam("b_about")) | (subjects.c.shard == bindparam("b_rack")) | bindparam("b_about").like("site:%"),
    )
    .values(next_due_at=Least(subjects.c.next_due_at, bindparam("b_now")), wakes=subjects.c.wakes + 1)
)
"""The subject, every node of a rack, or everything of the site."""


class Requests(Part):
    """See `ports.RequestStore`."""

    async def ask(self, kind: str, subject: Subject, body: Mapping[str, str], now: Instant) -> int:
        if kind == WAIVE:
            _waiver(subject, body)
        request = {"kind": kind, "subject": subject, "body": json.dumps(dict(body)), "made_at": now}
        woken = {"b_about": subject, "b_rack": subject.removeprefix("rack:"), "b_now": now}

        def work(connection: Connection) -> int:
            number: int = connection.execute(_ASK, request).scalar_one()
            connection.execute(_WAKE_ALL, woken)
            return number

        return await self._change([subject], work)

    async def asked(self, after: int) -> Sequence[Request]:
        found = await self._database.read(lambda connection: connection.execute(_AFTER, {"after": after}).mappings().all())
        return [_request_of(row) for row in found]

    async def waivers(self, now: Instant) -> Sequence[Waiver]:
        found = await self._database.read(lambda connection: connection.execute(_WAIVED).mappings().all())
        waivers = [_waiver(Subject(row["subject"]), json.loads(row["body"])) for row in found]
        return [waiver for waiver in waivers if waiver.until > now]


def _request_of(row: RowMapping) -> Request:
    return Request(id=row["id"], kind=row["kind"], subject=Subject(row["subject"]), body=json.loads(row["body"]), made_at=row["made_at"])


def _waiver(subject: Subject, body: Mapping[str, str]) -> Waiver:
    try:
        check, until, by, reason = (body[key] for key in WAIVER_KEYS)
        end = float(until)
    except (KeyError, ValueError) as error:
        raise InputError(f"not a waiver: {error}", hint=_WAIVER_HINT) from error
    if not math.isfinite(end):
        raise InputError("not a waiver: it has no end", hint=_WAIVER_HINT)
    return Waiver(check=check, subject=subject, until=end, by=by, reason=reason)
