"""Migrations: from nothing and from every former version to exactly the present tables."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from adapters.storage import schema_version
from adapters.storage.database import Database
from adapters.storage.lock import alone
from adapters.storage.schema_version import Migrated, migrate, schema
from adapters.storage.tables import metadata
from engine.exceptions import ConfigurationError, StorageDamaged, StorageError
from tests.storage import store_over

FOLDER = Path(schema_version.__file__).parent / "migrations"


def config() -> Config:
    made = Config()
    made.set_main_option("script_location", str(FOLDER))
    return made


REVISIONS = [one.revision for one in ScriptDirectory.from_config(config()).walk_revisions()]


def at_revision(database: Database, revision: str) -> None:
    def work(connection: Connection) -> None:
        setting = config()
        setting.attributes["connection"] = connection
        command.upgrade(setting, revision)

    database.run_now(work)


def differences(database: Database) -> list[object]:
    options = {"compare_type": True, "compare_server_default": True}
    return database.run_now(lambda one: compare_metadata(MigrationContext.configure(one, opts=options), metadata))


@pytest.mark.parametrize("before", [None, *REVISIONS])
def test_every_former_version_becomes_the_present_one(empty_url: str, before: str | None) -> None:
    """A new database and one of each former revision end with the tables, columns and indexes of today."""
    database = Database(empty_url)
    if before is not None:
        at_revision(database, before)
    assert migrate(database) == Migrated(before=before, after=REVISIONS[0])
    assert differences(database) == []
    assert not migrate(database).changed
    database.close()


def test_a_new_database_is_the_one_that_the_migrations_make(empty_url: str) -> None:
    """Made at once or step by step: the same columns, types, keys and indexes in each table, the stamp of the version among them,
    and the same numbers that SQLite never gives again."""
    database = Database(empty_url)
    migrate(database)
    at_once = tables_of(database)
    database.run_now(lambda one: [one.execute(text(f"DROP TABLE {name}")) for name in at_once])
    at_revision(database, REVISIONS[0])
    assert tables_of(database) == at_once and "alembic_version" in at_once
    database.close()


def test_tables_that_nobody_stamped_are_not_taken_for_ours(empty_url: str) -> None:
    """A database in which another program has a table of the same name is refused, and nothing is made beside it."""
    database = Database(empty_url)
    database.run_now(lambda one: one.execute(text("CREATE TABLE chats (their_own INTEGER)")))
    with pytest.raises(StorageError):
        migrate(database)
    assert database.run_now(lambda one: inspect(one).get_table_names()) == ["chats"]
    database.close()


def tables_of(database: Database) -> dict[str, object]:
    """Every table with its columns, primary key, indexes and, on SQLite, whether it numbers rows for good."""

    def found(connection: Connection) -> dict[str, object]:
        look, numbered = inspect(connection), ""
        tables = {}
        for name in sorted(look.get_table_names()):
            if connection.dialect.name == "sqlite":
                written = text("SELECT sql FROM sqlite_master WHERE name = :name")
                numbered = str("AUTOINCREMENT" in connection.execute(written, {"name": name}).scalar_one())
            columns = [
                (one["name"], str(one["type"]), one["nullable"], one["default"]) for one in look.get_columns(name)
            ]
            indexes = sorted((str(one["name"]), tuple(one["column_names"])) for one in look.get_indexes(name))
            tables[name] = (columns, look.get_pk_constraint(name), indexes, numbered)
        return tables

    return database.run_now(found)


async def test_the_numbers_of_last_updates_go_along(empty_url: str) -> None:
    """A number that an earlier version left in clear is the same one after the migration, and lies sealed after the start."""
    database = Database(empty_url)
    at_revision(database, "0002")
    database.run_now(lambda one: one.execute(text("INSERT INTO cursors VALUES ('discord 1', 1573983886721941559)")))
    migrate(database)
    store = store_over(database)
    await store.seal_cursors()
    assert await store.cursor("discord 1") == 1573983886721941559
    database.close()


def test_primary_keys_and_nulls_are_as_described(empty_url: str) -> None:
    """What a comparison by Alembic leaves out is the same too: primary keys, and which columns may be empty."""
    database = Database(empty_url)
    migrate(database)

    def found(connection: Connection) -> dict[str, tuple[object, ...]]:
        look = inspect(connection)
        return {
            name: (
                tuple(look.get_pk_constraint(name)["constrained_columns"]),
                tuple((one["name"], one["nullable"]) for one in look.get_columns(name)),
            )
            for name in metadata.tables
        }

    wanted = {
        name: (
            tuple(column.name for column in table.primary_key),
            tuple((column.name, bool(column.nullable)) for column in table.columns),
        )
        for name, table in metadata.tables.items()
    }
    assert database.run_now(found) == wanted
    database.close()


def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A database that a later CAFI has made is refused by name, and not a byte of its content changes."""
    database = Database(f"sqlite:///{tmp_path}/cafi.db")
    migrate(database)
    database.run_now(lambda connection: connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    before = (tmp_path / "cafi.db").read_bytes()
    database = Database(f"sqlite:///{tmp_path}/cafi.db")
    with pytest.raises(StorageDamaged, match=r"cafi\.db: .*newer CAFI"):
        migrate(database)
    database.close()
    assert (tmp_path / "cafi.db").read_bytes() == before


async def test_a_newer_one_is_refused_on_a_server_too(empty_url: str) -> None:
    """The refusal names database and remedy, and no revision changes."""
    database = Database(empty_url)
    migrate(database)
    change = text("UPDATE alembic_version SET version_num = '9999'")
    database.run_now(lambda connection: connection.execute(change))
    with pytest.raises(StorageDamaged, match=r"newer CAFI\. Start that one"):
        migrate(database)
    assert schema(database) == "9999"
    database.close()


async def test_two_programs_migrate_one_after_the_other(empty_url: str) -> None:
    """Of several that begin at once on an empty database one makes the tables, and the others find them made."""
    databases = [Database(empty_url) for _ in range(3)]
    results = await asyncio.gather(*(asyncio.to_thread(migrate, one) for one in databases))
    assert sorted(one.changed for one in results) == [False, False, True]
    for one in databases:
        one.close()


def test_nothing_is_changed_while_another_program_holds_the_database(empty_url: str) -> None:
    """Tables change under nobody's feet: the start of another one is refused, and the schema stays as it was."""
    first, second = Database(empty_url), Database(empty_url)
    at_revision(first, REVISIONS[1])
    with alone(first), pytest.raises(ConfigurationError, match="Another CAFI runs with this database"):
        migrate(second, lambda _: alone(second))
    assert schema(second) == REVISIONS[1]
    assert migrate(second, lambda _: alone(second)).changed
    for one in (first, second):
        one.close()


def test_migrations_are_written_and_not_left_as_generated() -> None:
    """Every migration opens with its purpose and holds no marks of a generator."""
    for path in (FOLDER / "versions").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert re.match(r'"""\w[^\n]+"""\n', text) and "auto generated" not in text, path.name
