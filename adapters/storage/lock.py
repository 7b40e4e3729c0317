"""One program a database: a lock that the operating system lets go of when the program ends, however it ends."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from engine import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adapters.storage.database import Database

_ADVISORY = 0x63616669
"""The lock's number within one PostgreSQL database; “cafi” in ASCII."""


@contextmanager
def together(database: Database) -> Iterator[None]:
    """Share a database of a server with others that share it; raises ConfigurationError where one has it for itself."""
    lock = AdvisoryLock(database, shared=True)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def alone(database: Database) -> Iterator[None]:
    """Hold a database for this program alone; raises ConfigurationError where another one has it."""
    if not database.sqlite:
        lock: DatabaseLock | AdvisoryLock | None = AdvisoryLock(database)
    else:  # one in memory is nobody else's
        lock = None if database.file is None else DatabaseLock(database.file)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


class DatabaseLock:
    """Held from its making to `release`; raises ConfigurationError where another program holds it.

    `file` is the database's; the lock is an empty file beside it, which stays.
    """

    def __init__(self, file: Path) -> None:
        self.path = file.with_name(file.name + ".lock")
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigurationError(
                f"The file cannot be made: {error.strerror}.", file=self.path, remedy="Check the folder's rights."
            ) from error
        try:
            _lock(self._handle)
        except OSError as error:
            os.close(self._handle)
            raise _held(file) from error

    def release(self) -> None:
        """Let go of it."""
        with suppress(OSError):
            os.close(self._handle)


class AdvisoryLock:
    """The same on PostgreSQL, held by a connection of its own; raises ConfigurationError and StorageError.

    The server lets go of it when that connection ends. A server that restarts under a running program frees it too, and
    the program does not notice.
    """

    def __init__(self, database: Database, *, shared: bool = False) -> None:
        take = func.pg_try_advisory_lock_shared if shared else func.pg_try_advisory_lock
        try:
            # Each statement by itself: a transaction that stays open would hold back the server's own tidying.
            self._connection = database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            taken = bool(self._connection.execute(select(take(_ADVISORY))).scalar())
        except SQLAlchemyError as error:
            raise database.translated(error) from error
        if not taken:
            self._connection.close()
            raise _held(database.place)

    def release(self) -> None:
        """Let go of it."""
        with suppress(SQLAlchemyError):
            self._connection.execute(select(func.pg_advisory_unlock_all()))
        with suppress(SQLAlchemyError):
            self._connection.close()


def _held(place: Path | str) -> ConfigurationError:
    return ConfigurationError(
        "Another CAFI runs with this database.",
        file=place,
        key="storage.url",
        remedy="Stop it first, or give this one a database of its own.",
    )


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
