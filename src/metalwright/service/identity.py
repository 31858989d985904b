"""Who a node is, as one digest: sha256 over the RFC 8785 form of every serial seen at provision."""

import hashlib
from typing import Any

import rfc8785

from metalwright.model.case import NodeCase
from metalwright.model.observation import HardwareSeen, Kind, Witness


def identity_document(case: NodeCase) -> dict[str, Any]:
    """The system serial and every part serial that the BMC or the agent shows; the spec's serial alone before any look."""
    facts = next(
        (
            look.body.facts
            for key in ((Kind.BMC_HARDWARE, Witness.OUT_OF_BAND), (Kind.AGENT_HARDWARE, Witness.RAM_DISK))
            if (look := case.seen(*key)) is not None and isinstance(look.body, HardwareSeen)
        ),
        None,
    )
    document: dict[str, Any] = {"system": case.node.serial}
    if facts is None:
        return document
    document["board"] = facts.identity.board_serial or ""
    for kind, parts in (("gpus", facts.gpus), ("nvswitches", facts.nvswitches), ("nics", facts.nics), ("drives", facts.drives)):
        document[kind] = sorted(part.serial for part in parts if part.serial)
    return document


def identity_digest(case: NodeCase) -> str:
    """64 hex digits."""
    return hashlib.sha256(rfc8785.dumps(identity_document(case))).hexdigest()
