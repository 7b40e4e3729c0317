"""The tables of the queue, which are procrastinate's own: made and changed by the SQL that comes with the library.

The name of the last of its migrations that a database has seen stands as a comment on its table of jobs. A new database
gets the library's whole schema; an older one each migration that came since, in the order of their names, `pre` and `post`
alike: nobody works meanwhile (`alone`).
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from sqlalchemy import Connection, func, select, text

from adapters.storage.database import Database
from adapters.storage.schema_version import Migrated
from engine import ConfigurationError, StorageDamaged

_NOTED = select(func.obj_description(func.to_regclass("procrastinate_jobs"), "pg_class"))
_THERE = select(func.to_regclass("procrastinate_jobs"))


def migrate_queue(database: Database) -> Migrated:
    """Bring the queue's tables up to date in one transaction. Raises StorageDamaged for those of a newer library."""
    return database.run_now(lambda connection: _migrate(connection, database.place))


def check_queue(database: Database) -> None:
    """Raises ConfigurationError where the queue's tables are not those of the library that is installed."""
    noted = database.run_now(lambda connection: connection.execute(_NOTED).scalar())
    if noted != newest_queue():
        raise ConfigurationError(
            "The queue's tables are not there, or of another version.",
            file=database.place,
            key="queue",
            remedy="Stop all workers and receivers, then: cafi migrate",
        )


def drop_jobs(connection: Connection) -> None:
    """Erase every job with its events, where there is a queue: their rows are not those of the inbox any more."""
    if connection.execute(_THERE).scalar() is not None:
        connection.execute(text("DELETE FROM procrastinate_jobs"))


def newest_queue() -> str:
    """The name of the last migration that the installed library has."""
    return _migrations()[-1].stem


def _migrations() -> list[Path]:
    from procrastinate.schema import SchemaManager

    return sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))


def _migrate(connection: Connection, place: str) -> Migrated:
    there = connection.execute(_THERE).scalar() is not None
    before = connection.execute(_NOTED).scalar() if there else None
    files = _migrations()
    after = files[-1].stem
    if not there:
        from procrastinate.schema import SchemaManager

        _run(connection, SchemaManager.get_schema())
    elif before not in {one.stem for one in files}:
        raise StorageDamaged(
            f"{place}: The queue's tables are of a newer CAFI, or somebody else's. Start that one, or another database."
        )
    for file in files:
        if there and file.stem > cast(str, before):
            _run(connection, file.read_text(encoding="utf-8"))
    if before != after:
        connection.execute(text(f"COMMENT ON TABLE procrastinate_jobs IS '{after}'"))
    return Migrated(before=before, after=after)


def _run(connection: Connection, sql: str) -> None:
    """Several statements at once, as they stand: no parameters, whatever signs are in them."""
    raw = connection.connection.driver_connection
    assert raw is not None  # noqa: S101 - a connection within its transaction
    raw.execute(sql.encode())
