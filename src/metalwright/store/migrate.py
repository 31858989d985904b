"""Bring the tables to the version of this program: Alembic's migrations, packaged in `migrations/`, run at open.

An up-to-date database costs one SELECT; Alembic is imported only when there is something to do.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from metalwright.model.errors import InputError
from metalwright.store.database import LONG_DEADLINE_S, Database

VERSION = "0001"
"""The newest migration in `migrations/versions`; a test compares."""
MIGRATIONS = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0x6D657461  # "meta"; held for the transaction only, so that a pooler cannot leak it


async def migrate(database: Database) -> None:
    """Upgrade if needed. InputError when the database was made by a newer program."""
    if await database.read(_version) != VERSION:
        await database.write(_upgrade, LONG_DEADLINE_S)


def _version(connection: Connection) -> str | None:
    """The database's version; None when it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - 100 ms that only a new database pays
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    if connection.dialect.name == "postgresql":  # on SQLite the writing transaction itself keeps others out
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise InputError(
            f"the site's database has version {_version(connection)}, this program knows up to {VERSION}",
            hint="use the newer metalwright that wrote it; a database is never downgraded",
        ) from error
