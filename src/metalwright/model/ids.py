"""Names of things, each its own type so that one is never passed for another."""

from typing import NewType

NodeName = NewType("NodeName", str)
RackName = NewType("RackName", str)
Subject = NewType("Subject", str)
"""What a finding or a work order is about: `node:atlas01`, `rack:r01`, `site:atlas`, `node:atlas01/gpu:3`."""
Digest = NewType("Digest", str)
"""`sha256:<64 hex>` over the stored bytes of the thing."""
OrderNumber = NewType("OrderNumber", int)
"""Site-unique ticket number of a work order, from 1."""
OperationId = NewType("OperationId", str)
"""`<order>/<step index>/<attempt>`: the same work asked twice has one id, so an agent does it once."""
CheckId = NewType("CheckId", str)
WorkerId = NewType("WorkerId", str)
Instant = float
"""Seconds since 1970 UTC by the collector's clock (`seen_at`, `now`). Durations are `*_s`."""


def node_subject(name: NodeName) -> Subject:
    """The subject of one node."""
    return Subject(f"node:{name}")


def node_of(subject: Subject) -> NodeName | None:
    """The node a subject belongs to, or None for racks and the site: `node:a1/gpu:3` → `a1`."""
    kind, _, rest = subject.partition(":")
    return NodeName(rest.partition("/")[0]) if kind == "node" else None
