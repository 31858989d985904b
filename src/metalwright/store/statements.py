"""The few pieces of SQL that SQLite and PostgreSQL spell differently, and statements made from them once and kept."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Boolean, Dialect, Double, Table, Text, TypeDecorator, bindparam
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.functions import FunctionElement


class _ManyTexts(TypeDecorator[Sequence[str]]):
    """A list of texts in one parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(ARRAY(Text()) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> Any:
        many = list(value or ())
        return many if dialect.name == "postgresql" else json.dumps(many)


class AnyOf(FunctionElement[bool]):
    """`column` is one of the texts in a parameter: one statement and one parameter, however many texts."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        many: BindParameter[Any] = bindparam(name, type_=_ManyTexts())
        super().__init__(column, many)


@compiles(AnyOf, "sqlite")
def _any_of_sqlite(element: AnyOf, compiler: SQLCompiler, **options: Any) -> str:
    column, many = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({many}))"  # noqa: S608 - both are SQL that SQLAlchemy rendered


@compiles(AnyOf, "postgresql")
def _any_of_postgresql(element: AnyOf, compiler: SQLCompiler, **options: Any) -> str:
    column, many = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} = ANY({many})"


class DatabaseNow(FunctionElement[float]):
    """The database's clock in seconds since 1970: leases live by it alone, so that workers need not agree on the time.

    SQLite has no server: its clock is this machine's, read by SQLite itself (millisecond steps).
    """

    type = Double()
    inherit_cache = True


@compiles(DatabaseNow, "sqlite")
def _now_sqlite(element: DatabaseNow, compiler: SQLCompiler, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(DatabaseNow, "postgresql")
def _now_postgresql(element: DatabaseNow, compiler: SQLCompiler, **options: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


class Least(FunctionElement[float]):
    """The smaller of two values; SQLite calls it `min`."""

    type = Double()
    inherit_cache = True


@compiles(Least, "sqlite")
def _least_sqlite(element: Least, compiler: SQLCompiler, **options: Any) -> str:
    return f"min({compiler.process(element.clauses, **options)})"


@compiles(Least, "postgresql")
def _least_postgresql(element: Least, compiler: SQLCompiler, **options: Any) -> str:
    return f"least({compiler.process(element.clauses, **options)})"


@cache
def insert_new(dialect: str, table: Table, key: tuple[str, ...]) -> Insert:
    """Insert rows whose key is new; leave the others as they are."""
    if dialect == "postgresql":
        return postgresql_insert(table).on_conflict_do_nothing(index_elements=key)
    return sqlite_insert(table).on_conflict_do_nothing(index_elements=key)


@cache
def insert_or_overwrite(dialect: str, table: Table, key: tuple[str, ...], taken: tuple[str, ...], newest: str | None = None) -> Insert:
    """Insert rows; where the key exists, take the columns `taken` from the new row, if its column `newest` is not smaller."""
    statement = postgresql_insert(table) if dialect == "postgresql" else sqlite_insert(table)
    return statement.on_conflict_do_update(
        index_elements=key,
        set_={name: statement.excluded[name] for name in taken},
        where=None if newest is None else statement.excluded[newest] >= table.c[newest],
    )
