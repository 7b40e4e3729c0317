"""Brings a database to the present tables, step by step, from any earlier version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from adapters.storage.database import Database
from engine import StorageDamaged

_FOLDER = Path(__file__).parent / "migrations"


def migrate(database: Database) -> str | None:
    """Bring the database up to date in one transaction; the revision it had before, None for a new one.

    Raises StorageDamaged for a database of a newer CAFI, and leaves it alone.
    """
    return database.run_now(lambda connection: _migrate(connection, database.place))


def outdated(database: Database) -> bool:
    """Whether `migrate` would change anything; raises StorageError."""

    def work(connection: Connection) -> bool:
        present = MigrationContext.configure(connection).get_current_revision()
        return present != ScriptDirectory.from_config(_config()).get_current_head()

    return database.run_now(work)


def is_known(revision: str) -> bool:
    """Whether this CAFI has tables of that revision, or can bring them to the present one."""
    return revision in _known(_config())


def _known(config: Config) -> set[str]:
    return {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    return config


def _migrate(connection: Connection, place: str) -> str | None:
    before = MigrationContext.configure(connection).get_current_revision()
    config = _config()
    if before is not None and before not in _known(config):
        raise StorageDamaged(f"{place}: The database was made by a newer CAFI. Start that one, or another database.")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return before
