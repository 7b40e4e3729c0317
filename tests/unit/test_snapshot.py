"""Copies of a database at one moment: for backups, while others write, and before migrations."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection

from adapters.storage.database import Database
from adapters.storage.schema_version import migrate
from adapters.storage.snapshot import copies, erase_expired, keep_copy, snapshot
from adapters.storage.tables import metadata
from engine.exceptions import ConfigurationError, StorageDamaged
from tests.storage import ANNA, POLL, database_in, message, state, store_over
from tests.unit.test_migrating import REVISIONS, at_revision


def counted(file: Path, table: str) -> int:
    connection = sqlite3.connect(file)
    found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - ours
    connection.close()
    return int(found)


async def filled(database: Database) -> None:
    """A row at least in each table that is of a chat, but for reviews, and some counts."""
    store = store_over(database)
    await store.take([message()], ("telegram", 7))
    await store.finish(None, ANNA, state("held " * 2000), 0, ("a poll", POLL))
    await store.spend(1, 5, 0.5)
    database.run_now(lambda one: one.exec_driver_sql("INSERT INTO asked VALUES (x'00', 1)"))


def test_a_snapshot_is_whole_transactions_while_others_write(tmp_path: Path) -> None:
    """However often it is copied beside a program that writes, what is written together is there together, and grows."""
    database = database_in(tmp_path)
    stop = threading.Event()

    def pair(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO outbox (event) VALUES (hex(randomblob(4000)))")
        connection.exec_driver_sql(
            "INSERT INTO spending VALUES (1, 1, 0) ON CONFLICT (day) DO UPDATE SET tokens = tokens + 1"
        )

    def write() -> None:
        while not stop.is_set():
            database.run_now(pair)

    database.run_now(pair)
    writer = threading.Thread(target=write)
    writer.start()
    found = []
    try:
        while len(found) < 5 or found[-1] == found[0]:
            copy = sqlite3.connect(":memory:")
            (tmp_path / "copy").write_bytes(snapshot(tmp_path / "cafi.db").content)
            sqlite3.connect(tmp_path / "copy").backup(copy)
            (rows,) = copy.execute("SELECT count(*) FROM outbox").fetchone()
            assert copy.execute("SELECT tokens FROM spending").fetchone() == (rows,)
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            found.append(rows)
            copy.close()
    finally:
        stop.set()
        writer.join()
        database.close()
    assert found == sorted(found)


async def test_a_snapshot_without_chats_holds_nothing_of_any(tmp_path: Path) -> None:
    """Rows of chats are neither in the tables nor in the bytes of such a copy; counts are, and the file stays as it is."""
    database = database_in(tmp_path)
    await filled(database)
    sealed = database.run_now(lambda one: one.exec_driver_sql("SELECT sealed FROM chats").scalar())
    (tmp_path / "whole").write_bytes(whole := snapshot(tmp_path / "cafi.db").content)
    (tmp_path / "copy").write_bytes(without := snapshot(tmp_path / "cafi.db", chats=False).content)
    assert sealed[40:80] in whole and sealed[40:80] not in without and len(without) < len(whole)
    for name, table in metadata.tables.items():
        assert counted(tmp_path / "copy", name) == (0 if table.info["of_a_chat"] else counted(tmp_path / "whole", name))
    assert counted(tmp_path / "copy", "spending") == counted(tmp_path / "cafi.db", "chats") == 1
    database.close()


def test_what_cannot_be_copied_is_told(tmp_path: Path) -> None:
    """A file without tables holds nothing yet, a damaged one is refused and not copied; both are named."""
    file = tmp_path / "cafi.db"
    file.touch()
    with pytest.raises(ConfigurationError, match=r"cafi\.db: storage\.url: Nothing is stored there yet\."):
        snapshot(file)
    file.unlink()
    database = database_in(tmp_path)
    database.run_now(lambda one: one.exec_driver_sql("INSERT INTO outbox (event) VALUES (hex(randomblob(90000)))"))
    database.close()
    with file.open("r+b") as content:
        content.seek(20_000)
        content.write(os.urandom(60_000))
    with pytest.raises(StorageDamaged, match=r"cafi\.db: The database is damaged"):
        snapshot(file)


def test_the_last_two_copies_stay_and_are_their_owners_alone(tmp_path: Path) -> None:
    """Of the copies before three migrations the last two are there, as they were, readable by nobody else; none of nothing."""
    file = tmp_path / "cafi.db"
    database = Database(f"sqlite:///{file}")
    assert keep_copy(file) is None
    for revision in reversed(REVISIONS[-3:]):
        at_revision(database, revision)
        for ending in (".new", ".new-wal"):
            (tmp_path / f"cafi.db.revision-{revision}{ending}").write_bytes(b"left by a process that was ended")
        copy = keep_copy(file)
        assert copy == tmp_path / f"cafi.db.revision-{revision}" and copy.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in copies(file)] == [f"cafi.db.revision-{one}" for one in REVISIONS[-3:-1][::-1]]
    assert not list(tmp_path.glob("*.new*"))
    (tmp_path / f"cafi.db.revision-{revision}-journal").touch()
    assert len(copies(file)) == 2, "what lies beside a copy counts as one"
    database.close()
    again = Database(f"sqlite:///{copies(file)[0]}")
    assert migrate(again).before == REVISIONS[-2]
    again.close()


async def test_chats_in_a_copy_expire_as_they_do_in_the_database(tmp_path: Path) -> None:
    """A copy that is older than a chat lasts loses whatever is of a chat, from its bytes too, and keeps the counts."""
    database = database_in(tmp_path)
    await filled(database)
    copy = keep_copy(tmp_path / "cafi.db")
    assert copy is not None
    sealed = database.run_now(lambda one: one.exec_driver_sql("SELECT sealed FROM chats").scalar())
    database.close()
    erase_expired(tmp_path / "cafi.db", copy.stat().st_mtime - 1)
    assert counted(copy, "chats") == 1 and sealed[40:80] in copy.read_bytes()
    erase_expired(tmp_path / "cafi.db", copy.stat().st_mtime + 1)
    assert counted(copy, "chats") == counted(copy, "inbox") == 0 and counted(copy, "spending") == 1
    assert sealed[40:80] not in copy.read_bytes() and copy.stat().st_mode & 0o777 == 0o600
    assert counted(tmp_path / "cafi.db", "chats") == 1
