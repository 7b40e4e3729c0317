"""SQLite: how its file is made and opened, and what its errors mean."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, event
from sqlalchemy.engine import URL, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from adapters.storage.private_files import make_private_file, make_private_folder
from engine import ConfigurationError, StorageDamaged, StorageError, StorageUnavailable

_PAUSE_SECONDS = 0.01
"""Between two trials to switch a file's journal while another program does so."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_REMEDIES = {
    sqlite3.SQLITE_FULL: "The disk is full. Make room; nothing that was taken is lost.",
    sqlite3.SQLITE_BUSY: "Another program keeps the database locked. Close it; nothing that was taken is lost.",
    sqlite3.SQLITE_LOCKED: "Another program keeps the database locked. Close it; nothing that was taken is lost.",
    sqlite3.SQLITE_READONLY: "The database cannot be written. Check the rights of the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "The database cannot be opened. Check that its folder exists and can be written.",
    sqlite3.SQLITE_IOERR: "The disk gave an error. Check it; nothing that was taken is lost.",
}


def file_engine(url: URL, busy_seconds: float) -> Engine:
    """The engine of a file, which is made where there is none; raises ConfigurationError."""
    if url.database:
        make_file(Path(url.database))
    # One connection, opened once; begin and commit are ours (see `_begin`).
    engine = sqlalchemy.create_engine(
        url,
        poolclass=sqlalchemy.pool.QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args={"timeout": busy_seconds, "check_same_thread": False},
        hide_parameters=True,
    )
    event.listen(engine, "connect", _pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def make_file(file: Path) -> None:
    """Make SQLite's file with its folder, where there is none, for this account alone; raises ConfigurationError.

    SQLite gives its journals the rights of the file.
    """
    try:
        make_private_folder(file.parent)
        make_private_file(file)
    except OSError as error:
        raise ConfigurationError(f"It cannot be made: {error.strerror}.", file=file, key="storage.url") from error


def damaged(place: str) -> StorageDamaged:
    """The file is no database any more."""
    return StorageDamaged(
        f"{place}: The database is damaged. Stop CAFI, keep a copy of the file, and start without it or with a backup."
    )


def file_fault(error: SQLAlchemyError | sqlite3.Error | UnicodeDecodeError, place: str) -> StorageError:
    """An error of SQLite in the house's words; the library's own words may quote values, and stay out of the message."""
    if isinstance(error, UnicodeDecodeError):
        # Text of ours is UTF-8: what is not, in a row or in SQLite's own complaint about its tables, was overwritten.
        return damaged(place)
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return damaged(place)
    reason = _REMEDIES.get(code, f"The database gave an error ({type(cause or error).__name__}).")
    return StorageUnavailable(f"{place}: {reason}")


def _pragmas(connection: Any, record: object) -> None:
    # Python's own transactions begin too late and lose updates; ours begin with the write lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    _write_ahead(cursor)
    for pragma in (
        "synchronous=FULL",  # an acknowledged message survives a power cut
        "foreign_keys=ON",
        "secure_delete=ON",  # what is erased is overwritten, not only unlinked
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch the file's journal. Of programs that open a new file at once SQLite lets one do so, and has the others not wait."""
    milliseconds: int = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
    until = time.monotonic() + milliseconds / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
