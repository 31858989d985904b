"""The conformance suite of the store, on SQLite."""

from tests.conformance.store_suite import *  # noqa: F403
