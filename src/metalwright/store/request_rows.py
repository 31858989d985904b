"""`RequestStore`: what people asked. Rows are only ever appended; turns read them."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, RowMapping, bindparam, select, update

from metalwright.model.ids import Instant, Subject
from metalwright.ports import Request
from metalwright.store.part import Part
from metalwright.store.statements import Least
from metalwright.store.tables import requests, subjects

_ASK = requests.insert().returning(requests.c.id)
_AFTER = select(requests).where(requests.c.id > bindparam("after")).order_by(requests.c.id)
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


def _request_of(row: RowMapping) -> Request:
    return Request(id=row["id"], kind=row["kind"], subject=Subject(row["subject"]), body=json.loads(row["body"]), made_at=row["made_at"])
