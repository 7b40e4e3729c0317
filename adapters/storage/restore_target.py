"""Where a backup is put: SQLite's file, or a server's database. What is there is not in use meanwhile, and is not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adapters.storage.database import Database
from adapters.storage.lock import DatabaseLock, alone
from adapters.storage.replacement import holds_something, replace_database
from adapters.storage.server_copy import in_use, replace_server


class RestoreTarget(Protocol):
    """`place`: as an operator knows it; `file`: beside it lies what is made ready, and what was moved aside."""

    @property
    def place(self) -> str: ...

    @property
    def file(self) -> Path: ...

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it for this program; raises ConfigurationError and StorageError."""
        ...

    def in_use(self) -> bool:
        """Whether anything is there; raises StorageError."""
        ...

    def put(self, staged: Path, last: Callable[[], None]) -> Path | None:
        """Put what SQLite's file holds in place; where what was there is now.

        `last`: what else is put in place, when no more than one step is left. Raises CafiError and OSError.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class FileTarget:
    """SQLite's file."""

    file: Path

    @property
    def place(self) -> str:
        """Its name."""
        return str(self.file)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """By the lock beside it."""
        lock = DatabaseLock(self.file)
        try:
            yield
        finally:
            lock.release()

    def in_use(self) -> bool:
        """One that is empty is not."""
        return holds_something(self.file)

    def put(self, staged: Path, last: Callable[[], None]) -> Path | None:
        """The file itself takes the place."""
        last()
        return replace_database(staged, self.file)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTarget:
    """A database of a server's. `file` is none, and gives others their names."""

    url: str
    file: Path

    @property
    def place(self) -> str:
        """Server and database."""
        with closing(Database(self.url)) as database:
            return database.place

    @contextmanager
    def alone(self) -> Iterator[None]:
        """By the server's lock."""
        with closing(Database(self.url)) as database, alone(database):
            yield

    def in_use(self) -> bool:
        """One whose tables are empty is not."""
        with closing(Database(self.url)) as database:
            return in_use(database)

    def put(self, staged: Path, last: Callable[[], None]) -> Path | None:
        """Its rows go there, in one transaction."""
        with closing(Database(self.url)) as database:
            return replace_server(database, staged, self.file, last)
