"""`EvidenceStore`: pending statements become log entries; one sequencer at a time, by a compare-and-swap of the log's size."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select, update

from metalwright.model.errors import InvariantError
from metalwright.model.evidence import Checkpoint, LogEntry, PendingStatement
from metalwright.store import rows
from metalwright.store.part import Part
from metalwright.store.specs import LOG
from metalwright.store.statements import insert_or_overwrite
from metalwright.store.tables import checkpoints, heads, log, statements

_PENDING = select(statements.c.body).where(statements.c.log_index.is_(None)).order_by(statements.c.sequence).limit(bindparam("most"))
_SIZE = select(heads.c.number).where(heads.c.name == LOG)
_GROW = update(heads).where(heads.c.name == LOG, heads.c.number == bindparam("b_previous")).values(number=bindparam("b_size"))
_ENTRIES = select(log).where(log.c.log_index >= bindparam("start"), log.c.log_index < bindparam("end")).order_by(log.c.log_index)
_CHECKPOINT = select(checkpoints).order_by(checkpoints.c.size.desc()).limit(1)
_CHECKPOINT_TAKEN = ("origin", "root", "note", "made_at")


class EvidenceRows(Part):
    """See `ports.EvidenceStore`."""

    async def pending(self, limit: int) -> Sequence[PendingStatement]:
        found = await self._database.read(lambda connection: connection.execute(_PENDING, {"most": limit}).scalars().all())
        return [rows.statement_of(text) for text in found]

    async def append(self, entries: Sequence[LogEntry], checkpoint: Checkpoint, previous_size: int) -> bool:
        _check_run(entries, checkpoint, previous_size)
        return await self._change(
            [entry.about for entry in entries], lambda connection: _append(connection, entries, checkpoint, previous_size)
        )

    async def size(self) -> int:
        return int(await self._database.read(lambda connection: connection.execute(_SIZE).scalar_one()))

    async def entries(self, start: int, end: int) -> Sequence[LogEntry]:
        wanted = {"start": start, "end": end}
        found = await self._database.read(lambda connection: connection.execute(_ENTRIES, wanted).mappings().all())
        return [rows.entry_of(row) for row in found]

    async def checkpoint(self) -> Checkpoint | None:
        row = await self._database.read(lambda connection: connection.execute(_CHECKPOINT).mappings().one_or_none())
        return None if row is None else rows.checkpoint_of(row)


def _check_run(entries: Sequence[LogEntry], checkpoint: Checkpoint, previous_size: int) -> None:
    """The entries follow the log without a hole, and the checkpoint is of the log with them."""
    if [entry.index for entry in entries] != list(range(previous_size, checkpoint.size)):
        raise InvariantError(f"{len(entries)} entries do not lead from size {previous_size} to the checkpoint's {checkpoint.size}")


def _append(connection: Connection, entries: Sequence[LogEntry], checkpoint: Checkpoint, previous_size: int) -> bool:
    dialect = connection.dialect.name
    if connection.execute(_GROW, {"b_previous": previous_size, "b_size": checkpoint.size}).rowcount != 1:
        return False
    if entries:
        connection.execute(log.insert(), [rows.entry_values(entry) for entry in entries])
        connection.execute(
            insert_or_overwrite(dialect, statements, ("statement_key",), ("log_index", "body")),
            [{"statement_key": entry.key, "body": "", "log_index": entry.index} for entry in entries],
        )
    connection.execute(insert_or_overwrite(dialect, checkpoints, ("size",), _CHECKPOINT_TAKEN), rows.checkpoint_values(checkpoint))
    return True
