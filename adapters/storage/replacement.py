"""Files put in place of others, which are moved aside and never lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from adapters.storage.private_files import private_draft, sync_folder, write_private


def replace_database(staged: Path, database: Path) -> Path | None:
    """Put SQLite's file `staged` in place of a database that nobody uses; where that one is now. Raises OSError."""
    there = holds_something(database)
    if there:
        _take_in_journal(database)
    aside = free_name(database)
    # Of a damaged database, or of one that is gone: SQLite would read them into the new one.
    for journal in journals(database):
        if journal.exists():
            journal.replace(journal.with_name(journal.name.replace(database.name, aside.name, 1)))
    if there:
        try:
            aside.hardlink_to(database)  # so that there is a database at every moment
        except OSError:
            database.replace(aside)
    staged.replace(database)
    sync_folder(database.parent)
    return aside if there else None


def journals(database: Path) -> list[Path]:
    """The files that SQLite keeps beside its own while it is open, and leaves there when its program is killed."""
    return [database.with_name(database.name + ending) for ending in ("-wal", "-shm")]


def replace_text(file: Path, text: str) -> Path | None:
    """Write a private file; where another one that was there is now. Raises OSError."""
    former = file.read_bytes() if holds_something(file) else b""
    if former == text.encode():
        return None
    aside = None
    if former:
        aside = free_name(file)
        with private_draft(aside) as kept:
            kept.write(former)
    write_private(file, text)
    return aside


def holds_something(file: Path) -> bool:
    """Whether a file is there and not empty."""
    return file.exists() and file.stat().st_size > 0


def _take_in_journal(database: Path) -> None:
    """What a process that was killed has left in the journal goes into the file, where it is no damaged one."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def free_name(file: Path) -> Path:
    """A name beside a file that nothing has yet, for what is moved aside."""
    names = (file.with_name(f"{file.name}.replaced{number or ''}") for number in count())
    return next(one for one in names if not one.exists())
