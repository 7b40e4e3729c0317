"""One owner among many processes: a lock of PostgreSQL that another process gets within seconds of the owner's end.

The lock belongs to a connection of its own. It goes when the process does, and, from PostgreSQL 14 on, when the process is
frozen or cut off for `SILENT_SECONDS`: the server then ends a session that says nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import SQLAlchemyError

from adapters.storage.database import Database
from engine import ConfigurationError, StorageError

T = TypeVar("T")
AGAIN_SECONDS = 1.0
SILENT_SECONDS = 5
_SILENT = text(
    f"SELECT set_config('idle_session_timeout', '{SILENT_SECONDS}s', false) "
    "WHERE current_setting('server_version_num')::int >= 140000"
)
_log = logging.getLogger("cafi.storage")


class Lost(Exception):
    """Somebody else may be the owner now."""


class Ownership(Protocol):
    """The right to do what one process at a time may do."""

    def owned(self, stopping: asyncio.Event) -> AbstractAsyncContextManager[None]:
        """Wait until this process is the owner, or `stopping` is set; it is until the end of the block."""
        ...

    async def check(self) -> None:
        """Raises Lost where it is not (any more)."""
        ...

    async def lost(self) -> None:
        """Wait until it is not any more."""
        ...


class Undisputed:
    """There is one process only."""

    @asynccontextmanager
    async def owned(self, stopping: asyncio.Event) -> AsyncIterator[None]:
        """At once."""
        yield

    async def check(self) -> None:
        """Always."""

    async def lost(self) -> None:
        """For ever."""
        await asyncio.Event().wait()


@dataclass(kw_only=True)
class AdvisoryOwnership:
    """Among the processes with one database on PostgreSQL. `number`: which ownership, 64 bits; `what`: for the log."""

    database: Database
    number: int
    what: str
    _connection: Connection | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def owned(self, stopping: asyncio.Event) -> AsyncIterator[None]:
        """Tries each second, and says so once."""
        said = False
        while not stopping.is_set() and not await self._taken():
            if not said:
                _log.warning("Another process %s; this one waits, and takes over within seconds of its end.", self.what)
                said = True
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), AGAIN_SECONDS)
        if said and self._connection is not None:
            _log.warning("This process %s now.", self.what)
        beating = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            await self._leave()

    async def check(self) -> None:
        """The connection that the lock belongs to is asked: where it is gone, the lock may be somebody else's."""
        try:
            await self._ask(lambda connection: connection.execute(text("SELECT 1")).scalar())
        except SQLAlchemyError:
            raise Lost from None

    async def lost(self) -> None:
        """Looks each second."""
        with suppress(Lost):
            while True:
                await self.check()
                await asyncio.sleep(AGAIN_SECONDS)

    async def _taken(self) -> bool:
        try:
            self._connection = await asyncio.to_thread(self._connected)
            if await self._ask(self._try):
                return True
        except (SQLAlchemyError, StorageError, ConfigurationError) as error:
            found = self.database.translated(error) if isinstance(error, SQLAlchemyError) else error
            _log.error("%s", found)
        await self._leave()
        return False

    def _connected(self) -> Connection:
        return self.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def _try(self, connection: Connection) -> bool:
        connection.execute(_SILENT)
        return bool(connection.execute(select(func.pg_try_advisory_lock(self.number))).scalar())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(AGAIN_SECONDS)
            with suppress(Lost):
                await self.check()

    async def _ask(self, work: Callable[[Connection], T]) -> T:
        async with self._one_at_a_time:
            connection = self._connection
            if connection is None:
                raise Lost
            return await asyncio.shield(asyncio.to_thread(work, connection))

    async def _leave(self) -> None:
        async with self._one_at_a_time:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(SQLAlchemyError):  # not back into the pool: lock and timeout belong to this session
                    connection.invalidate()
                with suppress(SQLAlchemyError):
                    connection.close()
