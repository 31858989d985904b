"""StoredSpec ↔ bytes for the store, and the digest that names it."""

from collections.abc import Mapping

import orjson

from metalwright.codec.json_codec import digest_of, from_bytes, to_bytes
from metalwright.model.ids import Digest
from metalwright.model.spec import HardwareProfile, SiteSpec, StoredSpec


def spec_to_bytes(stored: StoredSpec) -> bytes:
    """The JSON of a stored spec, whole."""
    return to_bytes(stored)


def spec_from_bytes(data: bytes) -> StoredSpec:
    """Read back what `spec_to_bytes` wrote; InvariantError for anything else."""
    return from_bytes(StoredSpec, data)


def spec_digest(spec: SiteSpec, profiles: Mapping[str, HardwareProfile]) -> Digest:
    """sha256 over the meaning: the parsed spec and the profiles it resolved to, keys sorted, lines of the packing list left out.

    Comments, spacing and the order of keys change nothing; an upgrade that brings a new profile version does.
    """
    meaning = orjson.loads(to_bytes(spec))
    for line in meaning["purchase"]:
        line["line"] = 0
    resolved = orjson.loads(to_bytes(dict(profiles), dict[str, HardwareProfile]))
    return digest_of(orjson.dumps({"profiles": resolved, "spec": meaning}, option=orjson.OPT_SORT_KEYS))
