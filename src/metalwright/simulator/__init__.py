"""A whole GPU site that only exists in memory, speaking the real protocols: seeded, with faults, for users and for tests.

`world` is the truth (what each server is made of), `redfish/` and `booted` are faces that render it, `machine` is a server
that boots over the network and from its disk, `faults` change the truth or a face, `site` serves it all.
"""
