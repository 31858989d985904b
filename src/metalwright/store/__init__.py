"""Remembers: specs, observations, work orders, evidence; SQLite and PostgreSQL, the same statements on both.

`open_store(url)` gives a `SqlStore`, which is every store protocol of `metalwright.ports`. `SiteLock` is the operating system's lock
that makes one process the writer of an embedded (SQLite) site.
"""

from metalwright.store.site_lock import SiteLock
from metalwright.store.sql_store import SqlStore, open_store

__all__ = ["SiteLock", "SqlStore", "open_store"]
