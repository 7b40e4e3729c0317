"""Bells between processes: PostgreSQL's LISTEN and NOTIFY, with a pseudonym and nothing else in what is sent.

A bell that was not heard, as the connection was away, is made up for: whoever listens again is told to look at everything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from adapters.tasks import ended

CHANNEL = "cafi_boards"
AGAIN_SECONDS = 1.0
SILENT_SECONDS = 20.0
"""After so long without a bell the server is asked whether it is still there."""
_log = logging.getLogger("cafi.storage")


def ring(connection: Connection, tokens: Iterable[bytes]) -> None:
    """Tell all processes, once the transaction is committed; on SQLite there are no others."""
    if connection.dialect.name == "postgresql":
        for token in tokens:
            connection.execute(select(func.pg_notify(CHANNEL, token.hex())))


@dataclass(kw_only=True)
class BellListener:
    """Hears every bell until it is told to stop. `parameters`: of the server, as psycopg takes them.

    `heard`: told of each token; `missed`: some may not have been heard. `listening`: it hears at the moment.
    """

    parameters: Mapping[str, Any]
    heard: Callable[[bytes], None]
    missed: Callable[[], None]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    listening: bool = False

    async def run(self) -> None:
        """Raises nothing: it waits until the server is there again."""
        stop = asyncio.create_task(self.stopping.wait())
        try:
            while not self.stopping.is_set():
                hearing = asyncio.create_task(self._until_lost())
                await asyncio.wait({hearing, stop}, return_when=asyncio.FIRST_COMPLETED)
                await ended(hearing)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), AGAIN_SECONDS)
        finally:
            await ended(stop)

    async def _until_lost(self) -> None:
        import psycopg

        try:
            async with await psycopg.AsyncConnection.connect(**self.parameters, autocommit=True) as connection:
                await connection.execute(f"LISTEN {CHANNEL}".encode())
                self.listening = True
                self.missed()
                while True:
                    async for notice in connection.notifies(timeout=SILENT_SECONDS):
                        with suppress(ValueError):
                            self.heard(bytes.fromhex(notice.payload))
                    await connection.execute(b"SELECT 1")
        except (psycopg.Error, OSError) as error:
            _log.error("bells of other processes cannot be heard (%s); trying on", type(error).__name__)
        finally:
            self.listening = False
