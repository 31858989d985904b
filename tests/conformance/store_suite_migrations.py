"""The packaged migrations and the tables in the code are one and the same."""

from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from metalwright.store import migrate
from metalwright.store.database import Database, parse_url
from metalwright.store.tables import metadata
from tests.conformance.store_site import opened


def differences(connection: Connection) -> list[Any]:
    """What Alembic would still have to change, and index conditions that it does not compare."""
    found = list(compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata))
    inspector = inspect(connection)
    for table in metadata.sorted_tables:
        wanted = {index.name for index in table.indexes if index.dialect_options[connection.dialect.name]["where"] is not None}
        key = f"{connection.dialect.name}_where"
        made = {index["name"] for index in inspector.get_indexes(table.name) if key in index.get("dialect_options", {})}
        found += [(table.name, wanted ^ made)] if wanted != made else []
    return found


async def test_a_new_database_has_exactly_the_tables_of_the_code(new_url: str) -> None:
    """From empty to the newest version by the migrations alone: same tables, columns, types, keys and indexes."""
    async with opened(new_url):
        pass
    database = Database(parse_url(new_url))
    database.open()
    try:
        assert await database.read(differences) == []
        assert len(await database.read(lambda connection: inspect(connection).get_table_names())) == len(metadata.tables) + 1
    finally:
        await database.close()


def test_the_newest_migration_is_the_version_of_the_code() -> None:
    """One line of migrations, whose end is `VERSION`: a forgotten one would never run."""
    config = Config()
    config.set_main_option("script_location", str(migrate.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.VERSION]
