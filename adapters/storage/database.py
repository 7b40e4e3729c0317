"""One database, SQLite or PostgreSQL: whole transactions in threads of their own, errors translated at this border."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from adapters.storage.private_files import make_private_file, make_private_folder
from engine import ConfigurationError, StorageDamaged, StorageError, StorageUnavailable

T = TypeVar("T")
BUSY_SECONDS = 10
"""How long SQLite waits for another process's transaction."""
_TOGETHER = 64
"""How many transactions are committed as one when they arrive together: each alone would wait for the disk."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_REMEDIES = {
    sqlite3.SQLITE_FULL: "The disk is full. Make room; nothing that was taken is lost.",
    sqlite3.SQLITE_BUSY: "Another program keeps the database locked. Close it; nothing that was taken is lost.",
    sqlite3.SQLITE_LOCKED: "Another program keeps the database locked. Close it; nothing that was taken is lost.",
    sqlite3.SQLITE_READONLY: "The database cannot be written. Check the rights of the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "The database cannot be opened. Check that its folder exists and can be written.",
    sqlite3.SQLITE_IOERR: "The disk gave an error. Check it; nothing that was taken is lost.",
}


class Database:
    """Runs transactions. On SQLite one thread does all of them, one after the other, so that none finds it locked.

    `busy_seconds`: how long SQLite waits for another program. Work must bear being begun again: it is part of a
    transaction that may be taken back.
    """

    def __init__(self, url: str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.url = url
        self.engine = _engine(url, busy_seconds)
        self.sqlite = self.engine.dialect.name == "sqlite"
        self._threads = ThreadPoolExecutor(max_workers=1 if self.sqlite else 8, thread_name_prefix="database")
        self._waiting: deque[tuple[Callable[[Connection], Any], Future[Any]]] = deque()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """One transaction, done whole or not at all; raises StorageError."""
        if not self.sqlite:
            return await asyncio.shield(asyncio.wrap_future(self._threads.submit(self.run_now, work)))
        done: Future[T] = Future()
        self._waiting.append((work, done))
        self._threads.submit(self._work_off)
        # Shielded: a cancelled caller must not leave the thread's outcome in doubt half-way.
        return await asyncio.shield(asyncio.wrap_future(done))

    def run_now(self, work: Callable[[Connection], T]) -> T:
        """The same, in this thread."""
        try:
            with self.engine.begin() as connection:
                return work(connection)
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise translated(error, self.place) from error

    def _work_off(self) -> None:
        """What has come meanwhile, in one transaction; where something in it fails, each alone."""
        jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), _TOGETHER))]
        if len(jobs) > 1:
            try:
                results = self.run_now(lambda connection: [work(connection) for work, _ in jobs])
            except Exception:  # which of them it was shows below
                results = None
            if results is not None:
                for (_, done), result in zip(jobs, results, strict=True):
                    _settle(done, partial(_same, result))
                return
        for work, done in jobs:
            _settle(done, partial(self.run_now, work))

    async def check(self) -> None:
        """Look through the whole file once; raises StorageDamaged."""

        def work(connection: Connection) -> None:
            if self.sqlite and connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
                raise _damaged(self.place)

        await self.run(work)

    async def tidy(self) -> None:
        """Write over what was erased in SQLite's journal too; raises StorageError. Not while somebody reads."""
        if self.sqlite:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._truncate)

    def _truncate(self) -> None:
        try:
            raw = self.engine.raw_connection()
            try:
                raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                raw.close()
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise translated(error, self.place) from error

    @property
    def place(self) -> str:
        """The database as an operator knows it, without a password."""
        url = make_url(self.url)
        return url.database or "memory" if self.sqlite else url.render_as_string(hide_password=True)

    async def aclose(self) -> None:
        """Finish what is running and let go of all connections."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """The same, in this thread."""
        self._threads.shutdown(wait=True)
        self.engine.dispose()


def translated(error: SQLAlchemyError | sqlite3.Error, place: str) -> StorageError:
    """A database error in the house's words; the library's own words may quote values, and stay out of the message."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return _damaged(place)
    reason = _REMEDIES.get(code, f"The database gave an error ({type(cause or error).__name__}).")
    return StorageUnavailable(f"{place}: {reason}")


def _damaged(place: str) -> StorageDamaged:
    return StorageDamaged(
        f"{place}: The database is damaged. Stop CAFI, keep a copy of the file, and start without it or with a backup."
    )


def _settle(done: Future[Any], work: Callable[[], Any]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:  # it belongs to whoever waits
        done.set_exception(error)


def _same(result: Any) -> Any:
    return result


def _engine(url: str, busy_seconds: float) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigurationError(
            "It is no address of a database.",
            key="storage.url",
            remedy="Write sqlite:///var/cafi.db or postgresql+psycopg://…",
        ) from error
    if parsed.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(parsed, pool_size=8, pool_pre_ping=True, hide_parameters=True)
    if parsed.database:
        make_file(Path(parsed.database))
    # One connection, opened once; begin and commit are ours (see `_begin`).
    engine = sqlalchemy.create_engine(
        parsed,
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


def _pragmas(connection: Any, record: object) -> None:
    # Python's own transactions begin too late and lose updates; ours begin with the write lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",  # an acknowledged message survives a power cut
        "foreign_keys=ON",
        "secure_delete=ON",  # what is erased is overwritten, not only unlinked
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
