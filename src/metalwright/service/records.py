"""The log, for people: its records, and the bundle."""

from dataclasses import dataclass
from pathlib import Path

from metalwright.codec.spec_codec import spec_to_bytes
from metalwright.drivers.signing.file_signer import TRUST, open_log
from metalwright.drivers.signing.whole_file import whole_file, write_whole
from metalwright.evidence.bundle import BundleWriter
from metalwright.evidence.merkle import Tree, leaf_hash
from metalwright.evidence.records import Record, open_record, proof_text
from metalwright.model.errors import InputError
from metalwright.service.clock import SystemClock
from metalwright.service.state_folder import STATE
from metalwright.service.wiring import open_reader

PAGE = 1000
LIST = "metalwright evidence list SITE"
NEVER = "metalwright apply SITE makes the first records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    records: int
    size: int
    origin: str


async def read_records(folder: Path) -> list[Record]:
    """Every record; none for a site that was never applied."""
    async with open_reader(folder) as store:
        return [open_record(entry) for entry in await store.entries(0, await store.size())] if store else []


async def prove(folder: Path, index: int) -> str:
    """One record and its inclusion in the newest checkpoint, as a C2SP proof that needs nothing else. InputError without that record."""
    async with open_reader(folder) as store:
        checkpoint = await store.checkpoint() if store else None
        if store is None or checkpoint is None or not 0 <= index < checkpoint.size:
            raise InputError(f"the log has {checkpoint.size if checkpoint else 0} records, counted from 0", hint=LIST)
        tree = Tree()
        for start in range(0, checkpoint.size, PAGE):
            for entry in await store.entries(start, min(start + PAGE, checkpoint.size)):
                tree.append(leaf_hash(entry.envelope))
        (proven,) = await store.entries(index, index + 1)
    return proof_text(proven, tree, checkpoint)


async def export(folder: Path, out: Path, trust_out: Path | None) -> Exported:
    """Write the bundle of everything up to the newest checkpoint. InputError when there is nothing, or the file cannot be written."""
    async with open_reader(folder) as store:
        stored = await store.current_spec() if store else None
        checkpoint = await store.checkpoint() if store else None
        if store is None or stored is None or checkpoint is None:
            raise InputError(f"{folder} has no records yet", hint=NEVER)
        state, now = folder / STATE, SystemClock().now()
        signer = open_log(state, stored.spec.site.name, simulated=stored.spec.site.simulated, now=now)
        writer = BundleWriter(spec=spec_to_bytes(stored), signer=signer, now=max(now, checkpoint.made_at))
        try:
            with whole_file(out, mode=0o644) as file:
                size = file.write(writer.head())
                for start in range(0, checkpoint.size, PAGE):
                    for entry in await store.entries(start, min(start + PAGE, checkpoint.size)):
                        size += file.write(writer.record(entry))
                size += file.write(writer.end(checkpoint))
            if trust_out is not None:
                write_whole(trust_out, (state / TRUST).read_bytes(), mode=0o644)
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}", hint="name a folder that exists and is yours") from error
    return Exported(records=checkpoint.size, size=size, origin=signer.origin)
