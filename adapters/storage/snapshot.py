"""Copies of SQLite's file as it is at one moment, while others write: for a backup, and before a migration.

Copies of a server's tables are such files too (`server_copy`), and are kept and expire in the same way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import delete
from sqlalchemy.exc import SQLAlchemyError

from adapters.storage.private_files import make_private_file, sync_file
from adapters.storage.replacement import journals
from adapters.storage.sqlite_file import file_fault
from adapters.storage.tables import metadata
from engine import ConfigurationError, StorageDamaged, StorageUnavailable

COPIES_KEPT = 2
"""Copies made before migrations that stay."""
_COPY = ".revision-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """A whole database file, and the revision of its tables."""

    content: bytes = field(repr=False)
    revision: str


def snapshot(file: Path, *, chats: bool = True) -> Snapshot:
    """The database as it is now, in memory alone; without `chats`, nothing in it is of one chat.

    Raises StorageError, and ConfigurationError where nothing is stored yet.
    """
    try:
        return _snapshot(file, chats)
    except MemoryError as error:
        raise StorageUnavailable(
            f"{file}: It is too large to be copied in memory. Stop CAFI and copy the file itself, or use PostgreSQL."
        ) from error


def _snapshot(file: Path, chats: bool) -> Snapshot:
    with _opened(file) as source:
        source.execute("BEGIN")  # it only reads, so nobody who writes waits for it
        if source.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise StorageDamaged(f"{file}: The database is damaged. Keep the backups there are: docs/howto/backup.md")
        found = _revision(source)
        if found is None:
            raise nothing_stored(file)
        if chats:
            return Snapshot(content=source.serialize(), revision=found)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA temp_store=MEMORY")
            _erase_chats(copy)
            copy.execute("VACUUM")
            return Snapshot(content=copy.serialize(), revision=found)


def revision(file: Path) -> str | None:
    """The revision of a file's tables, None where it has none; raises StorageError."""
    with _opened(file) as connection:
        return _revision(connection)


def nothing_stored(place: Path | str) -> ConfigurationError:
    """There is nothing to copy."""
    return ConfigurationError("Nothing is stored there yet.", file=place, key="storage.url", remedy="Start CAFI first.")


def keep_copy(file: Path) -> Path | None:
    """Copy the file beside itself, for this account alone; None where nothing is stored. The last two copies stay.

    Raises StorageError and OSError.
    """
    found = revision(file)

    def write(draft: Path) -> None:
        with _opened(file) as source:
            source.execute("VACUUM INTO ?", (str(draft),))

    return None if found is None else keep(file, found, write)


def keep(file: Path, found: str, write: Callable[[Path], None]) -> Path:
    """Keep what `write` puts into an empty file as the copy of a revision, beside `file`; the last two stay.

    Raises StorageError and OSError.
    """
    copy = file.with_name(f"{file.name}{_COPY}{found}")
    write_copy(copy, write)
    for one in copies(file)[:-COPIES_KEPT]:
        one.unlink(missing_ok=True)
    return copy


def write_copy(copy: Path, write: Callable[[Path], None]) -> None:
    """Have SQLite make a file for this account alone, whole or not at all; raises StorageError and OSError."""
    draft = copy.with_name(f"{copy.name}.new")
    left = (draft, *journals(draft))
    for one in left:
        one.unlink(missing_ok=True)
    try:
        make_private_file(draft)
        write(draft)
        with _opened(draft) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")  # nothing lies beside it while somebody looks into it
        sync_file(draft)
        draft.replace(copy)
    except BaseException:
        for one in left:
            one.unlink(missing_ok=True)
        raise


def copies(file: Path) -> list[Path]:
    """The copies that `keep_copy` has left, in the order of their revisions."""
    beside, begin = file.parent.iterdir() if file.parent.is_dir() else (), file.name + _COPY
    # Drafts and journals have a further ending.
    return sorted(one for one in beside if one.name.startswith(begin) and one.name.removeprefix(begin).isalnum())


def erase_expired(file: Path, before: float) -> None:
    """Take what is of a chat out of copies that were last written before a time in seconds since 1970.

    Raises StorageError.
    """
    try:
        old = [copy for copy in copies(file) if copy.stat().st_mtime < before]
    except OSError as error:  # the folder is away, or somebody has just removed one
        raise StorageUnavailable(f"{file}: Copies beside it cannot be read: {error.strerror}.") from error
    for copy in old:
        erase_chats(copy)


def erase_chats(file: Path) -> None:
    """Erase from a file that nobody uses whatever is of one chat; raises StorageError."""
    with _opened(file) as connection:
        if _erase_chats(connection):
            connection.execute("VACUUM")


def _erase_chats(connection: sqlite3.Connection) -> int:
    """Erase every row that is of one chat, in whichever of the tables there are; how many."""
    connection.execute("PRAGMA secure_delete=ON")
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.execute("BEGIN IMMEDIATE")
    ours = [table for name, table in metadata.tables.items() if table.info["of_a_chat"] and name in there]
    gone = sum(connection.execute(str(delete(table))).rowcount for table in ours)
    connection.execute("COMMIT")
    return gone


def _revision(connection: sqlite3.Connection) -> str | None:
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
    found = connection.execute("SELECT version_num FROM alembic_version").fetchone() if there else None
    return None if found is None else str(found[0])


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection of its own to a file that is there; errors in the house's words."""
    try:
        address = f"{file.resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            yield connection
    except (sqlite3.Error, SQLAlchemyError, UnicodeDecodeError) as error:
        raise file_fault(error, str(file)) from error
