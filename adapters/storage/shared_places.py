"""So many at a time among all processes with one database: numbered places, each a lock of PostgreSQL.

The locks belong to one connection of a process and go with it. Where the database cannot be asked, what a process may do by
itself is the only bound: nobody waits for an answer because nobody can count.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from adapters.storage.database import Database
from engine import ConfigurationError, StorageError

AGAIN_SECONDS = 0.25
"""Between two looks whether a place has become free; only the first in a process's own line looks."""
_KEY = 0x63616669
"""Of the locks: the other half is the place's number, so that they are none of those with one number of 64 bits."""
_TAKE = text(
    "SELECT place FROM generate_series(0, :most - 1) AS place "
    "WHERE place <> ALL(CAST(:held AS int[])) AND pg_try_advisory_lock(:key, place) LIMIT 1"
)
_GIVE = text("SELECT pg_advisory_unlock(:key, :place)")
_log = logging.getLogger("cafi.storage")


@dataclass(kw_only=True)
class SharedPlaces:
    """`most` places for all processes together; entered as often as `own` says in this one, in the order of asking."""

    database: Database
    most: int
    own: asyncio.Semaphore
    _held: list[int | None] = field(default_factory=list)
    _connection: Connection | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _line: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __aenter__(self) -> None:
        """Wait for a place."""
        await self.own.acquire()
        try:
            async with self._line:
                while not await self._taken():  # noqa: ASYNC110 - other processes ring no bell
                    await asyncio.sleep(AGAIN_SECONDS)
        except BaseException:
            self.own.release()
            raise

    async def __aexit__(self, *exc: object) -> None:
        """Give one back; which of them makes no difference."""
        self.own.release()
        async with self._one_at_a_time:
            place = self._held.pop()
            if place is not None:
                await asyncio.shield(asyncio.to_thread(self._give, place))

    async def _taken(self) -> bool:
        """Whether there was one, or nobody can tell."""
        async with self._one_at_a_time:
            try:
                place = await asyncio.shield(asyncio.to_thread(self._take))
            except (SQLAlchemyError, StorageError, ConfigurationError) as error:
                _log.error(
                    "places of all processes cannot be counted (%s); this one counts its own", type(error).__name__
                )
                self._lose()
                self._held.append(None)
                return True
            if place is not None:
                self._held.append(place)
            return place is not None

    def _take(self) -> int | None:
        if self._connection is None:
            connection = self.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()  # not back into the pool: locks belong to this session
            self._connection = connection
        held = [one for one in self._held if one is not None]
        found = self._connection.execute(_TAKE, {"most": self.most, "held": held, "key": _KEY}).scalar()
        return None if found is None else int(found)

    def _give(self, place: int) -> None:
        if self._connection is not None:
            try:
                self._connection.execute(_GIVE, {"key": _KEY, "place": place})
            except SQLAlchemyError:
                self._lose()

    def _lose(self) -> None:
        """The connection is gone, and its locks with it."""
        connection, self._connection = self._connection, None
        self._held = [None] * len(self._held)
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.close()

    async def aclose(self) -> None:
        """Let go of the connection."""
        async with self._one_at_a_time:
            self._lose()
