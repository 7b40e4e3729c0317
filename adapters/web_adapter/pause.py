"""The operator's switch: while it is on, no new message of the page is taken; help stays."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

from sqlalchemy import select

from adapters.storage.database import Database
from adapters.storage.tables import standing
from adapters.storage.upsert import upsert
from engine import StorageError

_PLATFORM, _PAUSED = "web", "paused"
_log = logging.getLogger("cafi.web")


@dataclass(kw_only=True)
class Pause:
    """In this process alone; after a restart it is off."""

    on: bool = False

    async def look(self) -> bool:
        """Whether it is on now."""
        return self.on

    async def switch(self, *, on: bool) -> None:
        """Pause, or go on. Raises StorageError where others have to learn of it."""
        self.on = on


@dataclass(kw_only=True)
class SharedPause(Pause):
    """For all servers of the page with one database; it outlasts them."""

    database: Database

    async def look(self) -> bool:
        """As it was when it could last be read, where it cannot be read now."""
        row = select(standing.c.content).where(standing.c.platform == _PLATFORM)
        try:
            content = await self.database.run(lambda connection: connection.execute(row).scalar())
        except StorageError as error:
            _log.error("%s", error)
            return self.on
        self.on = content is not None and _read(content)
        return self.on

    async def switch(self, *, on: bool) -> None:
        """Written first; raises StorageError, and then nothing has changed."""
        row = {"platform": _PLATFORM, "content": json.dumps({_PAUSED: on})}
        await self.database.run(lambda connection: connection.execute(upsert(connection.dialect.name, standing, row)))
        self.on = on


def _read(content: str) -> bool:
    """What cannot be read is a pause."""
    try:
        return json.loads(content)[_PAUSED] is not False
    except (ValueError, KeyError, TypeError):
        _log.error("what is stored of the pause cannot be read; the page is paused until somebody resumes it")
        return True
