"""Brings a database to the present tables, step by step, from any earlier version; two programs do it one after the other.

A new database gets the present tables at once. Alembic is imported only where there is something to bring forward: it takes ten
megabytes and a sixth of a second of each start.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, func, inspect, select

from adapters.storage.database import Database
from adapters.storage.postgresql import take_time
from adapters.storage.tables import metadata
from engine import StorageDamaged

_FOLDER = Path(__file__).parent / "migrations"
_REVISIONS = tuple(sorted(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*_*.py")))
"""Every migration, the last one last: a file begins with its number."""
_STAMP = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""The table in which Alembic keeps where a database is, as Alembic makes it."""
_ADVISORY = 0x63616D69
"""PostgreSQL's lock for migrating; another than that of the running program. SQLite begins with its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Migrated:
    """The schema before and after, by the numbers of migrations; `before` is None for a database without tables."""

    before: str | None
    after: str

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return self.before != self.after


Holding = Callable[[Connection], AbstractContextManager[object]]
"""What is entered while something is changed, with the connection on which that will be."""


def migrate(database: Database, holding: Holding = nullcontext) -> Migrated:
    """Bring the database up to date in one transaction.

    Raises StorageDamaged for a database of a newer CAFI, and leaves it alone.
    """
    return database.run_now(lambda connection: upgrade(connection, database.place, holding))


def upgrade(connection: Connection, place: str, holding: Holding = nullcontext) -> Migrated:
    """The same, within a transaction."""
    if connection.dialect.name == "postgresql":
        take_time(connection)
        connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY)))
    before = schema_of(connection, place)
    result = Migrated(before=before, after=newest())
    if result.changed:
        with holding(connection):
            make_tables(connection, result.after)
    return result


def make_tables(connection: Connection, revision: str) -> None:
    """Bring a database to a revision, from an earlier one or from nothing, within a transaction."""
    if revision == newest() and _schema(connection) is None:
        metadata.create_all(connection, checkfirst=False)  # tables that nobody stamped are not taken for ours
        _STAMP.create(connection, checkfirst=True)
        connection.execute(_STAMP.insert().values(version_num=revision))
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def schema(database: Database) -> str | None:
    """The number of the last migration that the database has seen; None for one without tables; raises StorageError."""
    return database.run_now(_schema)


def schema_of(connection: Connection, place: str) -> str | None:
    """The same, within a transaction; raises StorageDamaged for a database of a newer CAFI."""
    found = _schema(connection)
    if found is not None and not is_known(found):
        raise StorageDamaged(f"{place}: The database was made by a newer CAFI. Start that one, or another database.")
    return found


def _schema(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_STAMP.name):
        return None
    return connection.execute(select(_STAMP.c.version_num)).scalar()


def newest() -> str:
    """The number of the last migration that there is."""
    return _REVISIONS[-1]


def is_known(revision: str) -> bool:
    """Whether this CAFI has tables of that revision, or can bring them to the present one."""
    return revision in _REVISIONS
