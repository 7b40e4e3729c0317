"""The database in trouble: every error is ours, names the file and the remedy, and nothing is half-written."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.database import Database
from adapters.storage.lock import DatabaseLock
from adapters.storage.schema_version import migrate
from engine.exceptions import ConfigurationError, StorageDamaged, StorageUnavailable
from tests.storage import ANNA, BERT, INBOX, database_in, message, state, store_over

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = database_in(tmp_path, busy_seconds=0.1)
    yield made
    made.close()


def pragma(database: Database, text: str) -> None:
    raw = database.engine.raw_connection()
    raw.cursor().execute(f"PRAGMA {text}")
    raw.close()


async def test_a_full_database_takes_nothing_by_halves(database: Database) -> None:
    """At the end of the room a batch of messages is refused whole, and taken whole when there is room again."""
    store = store_over(database)
    await store.take([message(text="first")])
    pragma(database, "max_page_count=40")
    with pytest.raises(StorageUnavailable, match=r"cafi\.db: The disk is full"):
        await store.take([message(BERT, "x" * 3000) for _ in range(60)], ("telegram", 9))
    assert [one.incoming.text for one in (await store.unanswered("telegram"))[0]] == ["first"]
    assert await store.cursor("telegram") is None
    pragma(database, "max_page_count=100000")
    await store.take([message(BERT, "x" * 3000) for _ in range(60)], ("telegram", 9))
    assert len((await store.unanswered("telegram"))[0]) == 61


class NoThreads(ThreadPoolExecutor):
    """A system that gives no further thread, for so many times."""

    left = 1

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Fails as the standard library does."""
        if self.left:
            self.left -= 1
            raise RuntimeError("can't start new thread")
        return super().submit(fn, *args, **kwargs)


async def test_a_process_without_threads_tries_again_and_takes_nothing_twice(database: Database) -> None:
    """What the system refuses now is an error that is waited out, not one that a message is let go of for."""
    store = store_over(database)
    database._line = database._threads = NoThreads(max_workers=1)
    with pytest.raises(StorageUnavailable, match="gets no thread or no memory"):
        await store.take([message(text="first")])
    await store.take([message(text="second")])
    found, _ = await store.unanswered("telegram")
    assert [one.incoming.text for one in found] == ["second"]


async def test_a_read_only_database_says_so(database: Database) -> None:
    """What cannot be written is told as such, and written once it can be."""
    store = store_over(database)
    pragma(database, "query_only=ON")
    with pytest.raises(StorageUnavailable, match=r"cafi\.db: .*cannot be written.*rights"):
        await store.take([message()])
    pragma(database, "query_only=OFF")
    await store.take([message()])


async def test_a_locked_database_is_waited_for_and_then_told(tmp_path: Path, database: Database) -> None:
    """Another program's lock longer than the configured wait is an error with its remedy, and passes with the lock."""
    store = store_over(database)
    other = sqlite3.connect(tmp_path / "cafi.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailable, match=r"cafi\.db: Another program keeps the database locked. Close it"):
        await store.take([message()])
    other.execute("ROLLBACK")
    other.close()
    await store.take([message()])


async def test_a_damaged_file_is_noticed_before_anybody_is_served(tmp_path: Path, database: Database) -> None:
    """Bytes overwritten in the middle of the file are found at the start, with the remedy."""
    store = store_over(database)
    for number in range(60):
        await store.take([message(text=f"{number}" * 500)])
    database.close()
    file = tmp_path / "cafi.db"
    with file.open("r+b") as content:
        content.seek(file.stat().st_size // 2)
        content.write(os.urandom(16_384))
    again = Database(f"sqlite:///{file}")
    with pytest.raises(StorageDamaged, match=r"cafi\.db: The database is damaged. Stop CAFI, keep a copy"):
        await again.check()
    again.close()


async def test_damage_that_cannot_even_be_quoted_is_damage(tmp_path: Path, database: Database) -> None:
    """Where SQLite's own complaint quotes what was overwritten, and that is no text, the remedy is told all the same."""
    await store_over(database).take([message()])
    database.close()
    file = tmp_path / "cafi.db"
    content = file.read_bytes()
    entry = re.search(rb"table(\w+?)\1.CREATE TABLE", content, re.DOTALL)
    assert entry is not None
    broken = entry[0].replace(entry[1], b"\xe2\x28\xff".ljust(len(entry[1]), b"_"), 1).replace(b"CREATE", b"\xe2REATE")
    file.write_bytes(content.replace(entry[0], broken))
    again = Database(f"sqlite:///{file}")
    with pytest.raises(StorageDamaged, match="The database is damaged"):
        await again.check()
    again.close()


async def test_damage_while_running_is_an_error_of_ours(tmp_path: Path, database: Database) -> None:
    """A file that is overwritten under a running program gives the error with the remedy, not a wrong answer."""
    store = store_over(database)
    await store.finish(None, ANNA, state("words " * 2000), 0)
    await database.tidy()
    pragma(database, "cache_size=1")
    with (tmp_path / "cafi.db").open("r+b") as content:
        content.seek(4096)
        content.write(os.urandom((tmp_path / "cafi.db").stat().st_size - 4096))
    pragma(database, "shrink_memory")
    with pytest.raises(StorageDamaged, match="The database is damaged"):
        await store.load(ANNA)
        await store.finish(None, BERT, state("words " * 2000), 0)
        await database.check()


@pytest.mark.parametrize("content", [b"no database" * 500, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    """Something else under the database's name is named, and not a byte of it changes."""
    file = tmp_path / "cafi.db"
    file.write_bytes(content)
    database = Database(f"sqlite:///{file}")
    with pytest.raises(StorageDamaged, match=r"cafi\.db: The database is damaged"):
        migrate(database)
    database.close()
    assert file.read_bytes() == content


def test_a_folder_that_is_missing_is_made_and_one_that_cannot_be_is_named(tmp_path: Path) -> None:
    """The database's folder is made; where a file stands in its way, the message names it and the key."""
    database_in(tmp_path / "a" / "b").close()
    assert (tmp_path / "a" / "b" / "cafi.db").exists()
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(ConfigurationError, match=r"file/cafi\.db: storage\.url: It cannot be made"):
        database_in(tmp_path / "file")


def test_a_folder_that_vanishes_is_an_error_of_ours(tmp_path: Path) -> None:
    """A database whose folder is gone when it is opened gives the error with the remedy."""
    folder = tmp_path / "gone"
    database = Database(f"sqlite:///{folder}/cafi.db")
    shutil.rmtree(folder)
    with pytest.raises(StorageUnavailable, match=r"cannot be opened. Check that its folder exists"):
        migrate(database)
    database.close()


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


FULL_DISK = """
import asyncio, resource, signal, sys
from pathlib import Path
from engine.exceptions import StorageError
from tests.storage import database_in, message, store_over
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
database = database_in(Path(sys.argv[1]))
store = store_over(database)
async def work():
    taken = 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    try:
        while taken < 1000:
            await store.take([message(text="x" * 2000)])
            taken += 1
    except StorageError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.take([message(text="after")])
    found, _ = await store.unanswered("telegram")
    print(taken, len(found), found[-1].incoming.text)
asyncio.run(work())
database.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_a_file_that_cannot_grow_loses_nothing(tmp_path: Path) -> None:
    """Where the system lets no file grow, each message is either refused with the remedy or there afterwards."""
    command = (sys.executable, "-c", FULL_DISK, str(tmp_path))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    error, sums = done.stdout.splitlines()
    assert "cafi.db: The disk " in error
    taken, found, last = sums.split()
    assert int(found) == int(taken) + 1 and last == "after" and 0 < int(taken) < 1000


async def test_nothing_of_what_was_answered_stays_in_the_journal(tmp_path: Path, database: Database) -> None:
    """After tidying up, no sealed byte of an answered message is in the database's files."""
    store = store_over(database)
    (waiting,) = await store.take([message(text="secret words " * 50)])
    sealed = database.run_now(lambda one: one.exec_driver_sql("SELECT sealed FROM inbox").scalar())
    assert INBOX.open("waiting", b"", sealed)
    await store.finish(waiting.row, ANNA, None, 0)
    await database.tidy()
    assert sealed[40:80] not in on_disk(tmp_path)


def test_only_one_program_has_a_database(tmp_path: Path) -> None:
    """A second one is refused by name and remedy, and may have it once the first has let go or ended."""
    file = tmp_path / "cafi.db"
    first = DatabaseLock(file)
    with pytest.raises(ConfigurationError, match=r"cafi\.db: storage\.url: Another CAFI runs .* Stop it first"):
        DatabaseLock(file)
    first.release()
    DatabaseLock(file).release()
