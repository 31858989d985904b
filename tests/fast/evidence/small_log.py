"""A small log with real keys, and its bundle."""

import json
from pathlib import Path

from metalwright.drivers.signing.file_signer import FileSigner, open_log
from metalwright.evidence.bundle import write_bundle
from metalwright.evidence.merkle import RightEdge
from metalwright.evidence.sequence import Batch, sequence
from metalwright.evidence.trust import trust_bytes
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Subject

NOW = 1_760_000_000.0
SPEC = json.dumps({"digest": "sha256:1", "spec": {"nodes": [{"name": "a01", "serial": "S1"}, {"name": "a02", "serial": "S2"}]}}).encode()


def statement(number: int, *, node: str = "a01", serial: str = "S1", gate: str = "os", verdict: str = "green") -> PendingStatement:
    return PendingStatement(
        key=f"gate/{node}/{number}",
        kind="gate",
        subjects=((f"node:{serial}", "ab" * 32),),
        predicate={"gate": gate, "node": node, "verdict": verdict, "findings": [{"check": "os.image", "result": "pass"}], "n": number},
        made_at=NOW,
        about=Subject(f"node:{node}"),
    )


def log(folder: Path, count: int = 4) -> tuple[FileSigner, Batch]:
    signer = open_log(folder, "atlas", simulated=True)
    pending = [statement(number, node=f"a0{number % 2 + 1}", serial=f"S{number % 2 + 1}") for number in range(count)]
    return signer, sequence(pending, RightEdge(), signer, NOW)


def bundle(folder: Path, count: int = 4) -> tuple[bytes, bytes]:
    """(bundle, trust file)."""
    signer, batch = log(folder, count)
    data = write_bundle(spec=SPEC, entries=batch.entries, checkpoint=batch.checkpoint, signer=signer, now=NOW)
    return data, trust_bytes(signer.trust())
