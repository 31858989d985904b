"""The log, for people: its records, and the bundle."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metalwright.codec.spec_codec import spec_to_bytes
from metalwright.drivers.signing.file_signer import TRUST, open_log, write_whole
from metalwright.evidence.bundle import write_bundle
from metalwright.model.errors import InputError
from metalwright.model.evidence import LogEntry
from metalwright.model.ids import Instant, Subject
from metalwright.service.clock import SystemClock
from metalwright.service.state_folder import STATE
from metalwright.service.wiring import open_reader

NEVER = "metalwright apply SITE makes the first records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One log entry, opened."""

    index: int
    kind: str
    about: Subject
    says: str
    logged_at: Instant
    statement: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    records: int
    size: int
    origin: str


async def read_records(folder: Path) -> list[Record]:
    """Every record; none for a site that was never applied."""
    async with open_reader(folder) as store:
        return [_record(entry) for entry in await store.entries(0, await store.size())] if store else []


async def export(folder: Path, out: Path, trust_out: Path | None) -> Exported:
    """Write the bundle of everything up to the newest checkpoint. InputError when there is nothing, or the file cannot be written."""
    async with open_reader(folder) as store:
        stored = await store.current_spec() if store else None
        checkpoint = await store.checkpoint() if store else None
        if store is None or stored is None or checkpoint is None:
            raise InputError(f"{folder} has no records yet", hint=NEVER)
        entries = await store.entries(0, checkpoint.size)
    state = folder / STATE
    signer = open_log(state, stored.spec.site.name, simulated=stored.spec.site.simulated)
    spec = spec_to_bytes(stored)
    data = write_bundle(spec=spec, entries=entries, checkpoint=checkpoint, signer=signer, now=SystemClock().now())
    try:
        write_whole(out, data, mode=0o644)
        if trust_out is not None:
            write_whole(trust_out, (state / TRUST).read_bytes(), mode=0o644)
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}", hint="name a folder that exists and is yours") from error
    return Exported(records=len(entries), size=len(data), origin=signer.origin)


def _record(entry: LogEntry) -> Record:
    statement = json.loads(base64.b64decode(json.loads(entry.envelope)["payload"]))
    predicate = statement["predicate"]
    if entry.kind == "gate":
        says = f"gate {predicate['gate']} {predicate['verdict']}"
    elif entry.kind == "work":
        says = f"work order {predicate['work_order']} done: {', '.join(step['step'] for step in predicate['steps'])}"
    else:
        says = ""
    return Record(index=entry.index, kind=entry.kind, about=entry.about, says=says, logged_at=entry.logged_at, statement=statement)
