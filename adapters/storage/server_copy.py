"""A server's tables as a database of SQLite's, and back: one form of what is backed up, kept and restored.

Rows go as they are, sealed: nothing is opened on the way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, MetaData, delete
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from adapters.storage.database import Database
from adapters.storage.postgresql import one_moment
from adapters.storage.queue_schema import drop_jobs
from adapters.storage.replacement import free_name
from adapters.storage.schema_version import make_tables, schema, schema_of, upgrade
from adapters.storage.snapshot import Snapshot, keep, nothing_stored, write_copy
from adapters.storage.state_copy import copy_rows, tables_in_use
from adapters.storage.tables import metadata
from engine import StorageUnavailable


def file_url(file: Path) -> str:
    """The address of SQLite's file."""
    return URL.create("sqlite", database=str(file)).render_as_string()


def server_snapshot(database: Database, *, chats: bool = True) -> Snapshot:
    """The tables as they are now, while others write, in memory alone; without `chats`, nothing in it is of one chat.

    Raises StorageError, and ConfigurationError where nothing is stored yet.
    """
    try:
        found = database.run_now(partial(_snapshot, place=database.place, chats=chats))
    except MemoryError as error:
        raise StorageUnavailable(
            f"{database.place}: It is too large to be copied in memory. Use pg_dump; docs/howto/backup.md tells how."
        ) from error
    # A table that is written anew by a migration looks empty to whoever began before: the server's rule.
    if schema(database) != found.revision:
        raise StorageUnavailable(f"{database.place}: Its tables were changed while they were copied. Do it again.")
    return found


def keep_server_copy(connection: Connection, place: str, file: Path) -> Path | None:
    """As `keep_copy`, of a server that nobody else uses, within a transaction; `file` only names the copies.

    Raises StorageError and OSError.
    """
    found = schema_of(connection, place)
    return None if found is None else keep(file, found, partial(_write, connection, place))


def replace_server(database: Database, staged: Path, file: Path, last: Callable[[], None]) -> Path | None:
    """Put what SQLite's file holds in place of what is on a server that nobody else uses, in one transaction.

    What was there goes into a file beside `file`: which one. `last`: what is done when all else has gone well; where that
    fails, the server is as it was. The queue's jobs go. Raises StorageError, ConfigurationError and OSError.
    """
    aside, done = free_name(file) if in_use(database) else None, False
    if aside is not None:
        database.run_now(lambda one: write_copy(aside, partial(_write, one, database.place)))

    def work(connection: Connection) -> None:
        nonlocal done
        done = False
        upgrade(connection, database.place)
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))
        drop_jobs(connection)
        with closing(Database(file_url(staged))) as source, _beside(source) as rows:
            copy_rows(rows, connection, metadata.sorted_tables)
        last()
        done = True

    try:
        database.run_now(work)
    except BaseException:
        # Not where only the end of the transaction is in doubt: it may be the one copy then.
        if aside is not None and not done:
            aside.unlink(missing_ok=True)
        raise
    return aside


def in_use(database: Database) -> bool:
    """Whether anything is stored; raises StorageDamaged for a database of a newer CAFI."""

    def work(connection: Connection) -> bool:
        return schema_of(connection, database.place) is not None and bool(tables_in_use(connection))

    return database.run_now(work)


def _snapshot(connection: Connection, place: str, chats: bool) -> Snapshot:
    one_moment(connection)
    with closing(Database("sqlite://")) as copy:
        revision = _copied(connection, place, copy, chats)
        with _beside(copy) as read:
            raw: sqlite3.Connection | None = read.connection.driver_connection
            assert raw is not None  # noqa: S101 - a connection within its transaction
            return Snapshot(content=raw.serialize(), revision=revision)


def _write(connection: Connection, place: str, file: Path) -> None:
    with closing(Database(file_url(file))) as copy:
        _copied(connection, place, copy)


def _copied(connection: Connection, place: str, copy: Database, chats: bool = True) -> str:
    """Copy our tables, of whichever revision they are, into an empty database; their revision."""
    revision = schema_of(connection, place)
    if revision is None:
        raise nothing_stored(place)
    with _beside(copy) as target:
        make_tables(target, revision)
        made = MetaData()
        made.reflect(target, only=lambda name, _: name in metadata.tables)
        wanted = [one for one in made.sorted_tables if chats or not metadata.tables[one.name].info["of_a_chat"]]
        copy_rows(connection, target, wanted)
    return revision


@contextmanager
def _beside(copy: Database) -> Iterator[Connection]:
    """A transaction of SQLite's within one of the server's: what goes wrong is told of the one where it did."""
    try:
        with copy.engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise copy.translated(error) from error
        raise
