"""The store's tests know how to run a PostgreSQL of one's own."""

from tests.real.store.conftest import server, url

__all__ = ["server", "url"]
