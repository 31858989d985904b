"""Recorded trees of real BMCs, served again: what a user captured becomes a BMC that anyone can try."""
