"""The queue's tables, which come with a library: which version they are, and how they are brought up to date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from adapters.storage.database import Database
from adapters.storage.queue_schema import check_queue, migrate_queue, newest_queue
from adapters.storage.schema_version import Migrated
from engine.exceptions import ConfigurationError, StorageDamaged
from tests.postgres import PostgresServer

schema = pytest.importorskip("procrastinate.schema", reason="procrastinate is not installed")
KNOWN = "03.04.00_50_post_add_retry_failed_job_procedure"
"""Of another one, read what its migrations do before this line is changed: whether each may stand in a transaction with the
others, and whether functions that `adapters/delivery/job_queue.py` names are still there."""


@pytest.fixture
def database(postgresql: PostgresServer) -> Iterator[Database]:
    """A new database without tables."""
    postgresql.execute("CREATE DATABASE queue")
    made = Database(postgresql.url("queue"))
    yield made
    made.close()
    postgresql.execute("DROP DATABASE queue WITH (FORCE)")


def shape(database: Database) -> list[tuple[str, ...]]:
    """Every column, index and function there is."""
    statements = (
        "SELECT 'column', table_name, column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = 'public'",
        "SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT 'function', proname, pg_get_function_arguments(oid) FROM pg_proc "
        "WHERE pronamespace = 'public'::regnamespace",
    )

    def work(connection: Connection) -> list[tuple[str, ...]]:
        return sorted(tuple(row) for one in statements for row in connection.execute(text(one)))

    return database.run_now(work)


def test_the_librarys_schema_is_the_one_that_was_looked_at() -> None:
    """The installed procrastinate has no migration that this program's developers have not read."""
    assert newest_queue() == KNOWN


def test_a_queue_of_an_earlier_library_becomes_the_present_one(database: Database, postgresql: PostgresServer) -> None:
    """Tables of an earlier version of the library get each later migration once, and end as those of a new database do."""
    files = sorted(Path(schema.SchemaManager.get_migrations_path()).glob("*.sql"))
    earlier = [one for one in files if one.stem < "03.03"]
    for file in earlier:
        postgresql.execute(file.read_text(encoding="utf-8"), "queue")
    postgresql.execute(f"COMMENT ON TABLE procrastinate_jobs IS '{earlier[-1].stem}'", "queue")
    with pytest.raises(ConfigurationError, match="cafi migrate"):
        check_queue(database)
    assert migrate_queue(database) == Migrated(before=earlier[-1].stem, after=KNOWN)
    upgraded = shape(database)
    assert not migrate_queue(database).changed
    check_queue(database)
    database.run_now(lambda one: one.execute(text("DROP SCHEMA public CASCADE; CREATE SCHEMA public")))
    assert migrate_queue(database) == Migrated(before=None, after=KNOWN)
    assert shape(database) == upgraded


def test_the_queue_of_a_newer_library_is_left_alone(database: Database) -> None:
    """A queue with a migration that this library does not have is refused, and stays as it is."""
    migrate_queue(database)
    database.run_now(lambda one: one.execute(text("COMMENT ON TABLE procrastinate_jobs IS '99.00.00_01_pre_new'")))
    before = shape(database)
    with pytest.raises(StorageDamaged, match="newer CAFI"):
        migrate_queue(database)
    assert shape(database) == before
