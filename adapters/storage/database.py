"""One database, SQLite or PostgreSQL: whole transactions in threads of their own, errors translated at this border."""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from adapters.storage.postgresql import (
    DRIVER,
    KEY,
    begins_again,
    server_clock,
    server_engine,
    server_fault,
    server_place,
)
from adapters.storage.sqlite_file import damaged, file_engine, file_fault
from engine import ConfigurationError, StorageError, StorageUnavailable

T = TypeVar("T")
BUSY_SECONDS = 10
"""How long SQLite waits for another process's transaction."""
CONNECTIONS = 8
"""To PostgreSQL, of one process."""
CLOCKS_APART = 60.0
"""Seconds between our clock and the server's, beyond which an operator is told."""
_TOGETHER = 64
"""How many transactions are committed as one when they arrive together: each alone would wait for the disk."""
_ATTEMPTS = 4
"""How often a transaction is begun that the server takes back, as another one had the way."""
_PAUSE_SECONDS = 0.02
"""At most so long, times the attempts before, it waits until then."""
_log = logging.getLogger("cafi.storage")


class Database:
    """Runs transactions. On SQLite one thread does all of them, one after the other, so that none finds it locked.

    `busy_seconds`: how long SQLite waits for another program. `connections`: to PostgreSQL, each with a thread. Work must
    bear being begun again: it is part of a transaction that may be taken back. Raises ConfigurationError for an address
    that cannot be used; so does the first transaction, where the server refuses it.
    """

    def __init__(self, url: str, *, busy_seconds: float = BUSY_SECONDS, connections: int = CONNECTIONS) -> None:
        self.url = url
        self.engine = _engine(url, busy_seconds, connections)
        self.sqlite = self.engine.dialect.name == "sqlite"
        self._served = False
        self._line = ThreadPoolExecutor(max_workers=1, thread_name_prefix="database in order")
        self._threads = self._line
        if not self.sqlite:
            self._threads = ThreadPoolExecutor(max_workers=connections, thread_name_prefix="database")
        self._waiting: deque[tuple[Callable[[Connection], Any], Future[Any]]] = deque()

    async def run(self, work: Callable[[Connection], T], *, in_order: bool = False) -> T:
        """One transaction, done whole or not at all; raises StorageError.

        `in_order`: not before any that was begun earlier and in order too, as on SQLite they all are.
        """
        if not (self.sqlite or in_order):
            return await asyncio.shield(asyncio.wrap_future(self._begun(self._threads, partial(self.run_now, work))))
        done: Future[T] = Future()
        self._waiting.append((work, done))
        try:
            self._begun(self._line, self._work_off)
        except StorageUnavailable:
            with suppress(ValueError):  # somebody's thread may have it already
                self._waiting.remove((work, done))
                raise
        # Shielded: a cancelled caller must not leave the thread's outcome in doubt half-way.
        return await asyncio.shield(asyncio.wrap_future(done))

    def _begun(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> Future[T]:
        """Hand work to a thread. What the system does not give now it may give later: nobody's message is let go of."""
        try:
            return threads.submit(work)
        except (RuntimeError, MemoryError) as error:
            raise StorageUnavailable(
                f"{self.place}: This process gets no thread or no memory. Give it more; nothing that was taken is lost."
            ) from error

    def run_now(self, work: Callable[[Connection], T]) -> T:
        """The same, in this thread."""
        try:
            return self._transaction(work)
        except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self.translated(error) from error

    def _transaction(self, work: Callable[[Connection], T], *, attempt: int = 1) -> T:
        done = False
        try:
            with self.engine.begin() as connection:
                self._served = True
                found = work(connection)
                done = True
            return found
        except DBAPIError as error:
            # After the work nobody knows whether the server has committed it; before that nothing of it is there.
            if done or attempt == _ATTEMPTS or self.sqlite or not begins_again(error):
                raise
        # Of two that were in each other's way the one that begins anew at once may meet the other again.
        time.sleep(random.uniform(0, _PAUSE_SECONDS * attempt))
        return self._transaction(work, attempt=attempt + 1)

    def _work_off(self) -> None:
        """What has come meanwhile, in one transaction; where something in it fails, each alone."""
        jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), _TOGETHER))]
        if len(jobs) > 1:
            try:
                results = self.run_now(lambda connection: [work(connection) for work, _ in jobs])
            except Exception as error:  # which of them it was shows below
                if isinstance(error, StorageUnavailable) and not self.sqlite:
                    # A server that went away may have committed them: alone they might be done twice.
                    for _, done in jobs:
                        done.set_exception(error)
                    return
            else:
                for (_, done), result in zip(jobs, results, strict=True):
                    done.set_result(result)
                return
        for work, done in jobs:
            _settle(done, partial(self.run_now, work))

    async def check(self, now: Callable[[], float] = time.time) -> None:
        """Look through the whole file once, and at the server's clock; raises StorageDamaged. `now`: seconds since 1970."""

        def work(connection: Connection) -> None:
            if not self.sqlite:
                apart = abs(server_clock(connection) - now())
                if apart > CLOCKS_APART:
                    _log.warning(
                        "%s: its clock and this computer's are %d seconds apart. Set both by NTP.", self.place, apart
                    )
            elif connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
                raise damaged(self.place)

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
        except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self.translated(error) from error

    def translated(
        self, error: SQLAlchemyError | sqlite3.Error | UnicodeDecodeError
    ) -> StorageError | ConfigurationError:
        """A database error in the house's words; the library's own words may quote values, and stay out of the message."""
        if self.sqlite or isinstance(error, (sqlite3.Error, UnicodeDecodeError)):
            return file_fault(error, self.place)
        return server_fault(error, self.place, served=self._served)

    @property
    def file(self) -> Path | None:
        """SQLite's file; None in memory and on a server."""
        database = make_url(self.url).database
        return Path(database) if self.sqlite and database else None

    @property
    def place(self) -> str:
        """The database as an operator knows it, without a password."""
        url = make_url(self.url)
        return url.database or "memory" if self.sqlite else server_place(url)

    async def aclose(self) -> None:
        """Finish what is running and let go of all connections."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """The same, in this thread."""
        for threads in (self._line, self._threads):
            threads.shutdown(wait=True)
        self.engine.dispose()


def _settle(done: Future[Any], work: Callable[[], Any]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:  # it belongs to whoever waits
        done.set_exception(error)


def address(url: str) -> URL:
    """The address of a database, in parts; raises ConfigurationError for one that is neither SQLite's nor PostgreSQL's."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.drivername not in {"sqlite", "sqlite+pysqlite", "postgres", "postgresql", DRIVER}:
        raise ConfigurationError(
            "It is no address of a database.", key=KEY, remedy=f"Write sqlite:///var/cafi.db or {DRIVER}://…"
        )
    return parsed


def _engine(url: str, busy_seconds: float, connections: int) -> Engine:
    parsed = address(url)
    if parsed.get_backend_name() == "sqlite":
        return file_engine(parsed, busy_seconds)
    return server_engine(parsed, connections)


def existing(url: str) -> Database:
    """A database that is there; raises ConfigurationError for a file that opening would make."""
    parsed = address(url)
    file = parsed.database if parsed.get_backend_name() == "sqlite" else None
    if file and not Path(file).is_file():
        raise ConfigurationError(
            "There is no such database yet.", file=file, key=KEY, remedy="It is made when a bot starts."
        )
    return Database(url)
