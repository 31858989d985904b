"""Proof: statements, envelopes, the Merkle log, checkpoints, bundles, verification. Bytes, keys and `now` go in; no I/O."""
