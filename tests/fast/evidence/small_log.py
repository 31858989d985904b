"""A small log with real keys in memory, and its bundle."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from metalwright.evidence.bundle import export_bundle
from metalwright.evidence.keys import PublicKey
from metalwright.evidence.notes import COSIGNATURE, NoteKey
from metalwright.evidence.sequence import Batch, LogState, sequence
from metalwright.evidence.trust import LogKey, Trust, trust_file, trust_payload
from metalwright.model.evidence import PendingStatement
from metalwright.model.ids import Subject

NOW = 1_760_000_000.0


def spec(*serials: str, purchase: Sequence[dict[str, Any]] = (), simulated: bool = True) -> bytes:
    """The JSON of a spec as far as evidence reads it: nodes a01, a02 … with these serials."""
    nodes = [{"name": f"a{number:02}", "serial": serial} for number, serial in enumerate(serials, 1)]
    site = {"site": {"name": "atlas", "simulated": simulated}, "nodes": nodes, "purchase": list(purchase), "racks": [{"kw": 17.3}]}
    return json.dumps({"digest": "sha256:1", "spec": site, "profiles": {}}).encode()


SPEC = spec("S1", "S2")


@dataclass(frozen=True)
class MemorySigner:
    """`evidence.sequence.Signer` over a key made from one byte."""

    seed: int = 1
    origin: str = "metalwright.log/atlas/1"
    simulated: bool = True

    @property
    def key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(bytes([self.seed]) * 32)

    @property
    def public(self) -> PublicKey:
        return PublicKey(self.public_key)

    @property
    def public_key(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    @property
    def key_id(self) -> str:
        return self.public.key_id

    def sign(self, payload: bytes) -> bytes:
        return self.key.sign(payload)

    def witness(self, name: str) -> NoteKey:
        """This key as a witness's."""
        return NoteKey(name=name, type=COSIGNATURE, key=self.public)


LOG = MemorySigner()


def trust_of(signer: MemorySigner = LOG, **changed: Any) -> Trust:
    """The trust file's content of a new site, or a version of it."""
    parts: dict[str, Any] = {
        "version": 1,
        "origin": signer.origin,
        "simulated": signer.simulated,
        "made_at_ms": int(NOW * 1000),
        "roots": (signer.public,),
        "threshold": 1,
        "log_keys": (LogKey(key=signer.public, from_index=0),),
    }
    return Trust(**parts | changed)


def signed_trust(trust: Trust, *roots: MemorySigner) -> bytes:
    """The file, signed by these roots."""
    return trust_file(trust, {root.key_id: root.sign(trust_payload(trust)) for root in roots or (LOG,)})


TRUST = signed_trust(trust_of())


def statement(
    number: int, *, node: str = "a01", serial: str = "S1", gate: str = "os", verdict: str = "green", **predicate: Any
) -> PendingStatement:
    return PendingStatement(
        key=f"gate/{node}/{gate}/{number}",
        kind="gate",
        subjects=((f"node:{serial}", "ab" * 32),),
        predicate={"gate": gate, "node": node, "verdict": verdict, "findings": [{"check": "os.image", "result": "pass"}], **predicate},
        made_at=NOW - 1,
        about=Subject(f"node:{node}"),
    )


def statements(count: int) -> list[PendingStatement]:
    """`count` different ones, about both nodes in turn."""
    return [statement(number, node=f"a0{number % 2 + 1}", serial=f"S{number % 2 + 1}") for number in range(count)]


def log(count: int = 4, signer: MemorySigner = LOG) -> Batch:
    return sequence(statements(count), LogState(), signer, NOW)


def bundle(batch: Batch | None = None, *, spec: bytes = SPEC, signer: MemorySigner = LOG, now: float = NOW + 1) -> bytes:
    made = batch or log()
    return export_bundle(spec=spec, entries=made.entries, checkpoint=made.checkpoint, signer=signer, now=now)
