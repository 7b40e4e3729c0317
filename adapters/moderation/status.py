"""What moderators have set: mode, pause, what is blocked. In memory first; a file and the database follow.

A pause must work while model and database are down, so it depends on neither: it holds as soon as it is said, and is
written afterwards. The file stands beside the database, so that a restart finds the pause when the database is away.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError
from sqlalchemy import Connection, select

from adapters.moderation.policy import Mode
from adapters.storage.database import Database
from adapters.storage.private_files import write_private
from adapters.storage.tables import standing as standing_table
from adapters.storage.upsert import upsert
from engine import StorageError, Strict

_log = logging.getLogger("cafi.moderation")


class ModerationStatus(Strict):
    """What holds now. `number` grows with each change: of two that are found, the later one is known by it."""

    mode: Mode = Mode.OPEN
    paused: bool = False
    sources: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    number: int = Field(default=0, ge=0)

    def changed(self, **changes: object) -> ModerationStatus:
        """The next one."""
        return ModerationStatus.model_validate({**self.model_dump(), **changes, "number": self.number + 1})


UNREADABLE = ModerationStatus(paused=True)
"""In place of a file that is there and cannot be read: better silent than against the moderators' word."""


@dataclass(kw_only=True)
class StatusStore:
    """Holds what moderators of one platform have set; `initial` is what is configured for the very first start."""

    file: Path
    database: Database
    platform: str
    initial: ModerationStatus = ModerationStatus()  # noqa: RUF009 - frozen
    replace_file: Callable[[Path, str], None] = field(default_factory=lambda: write_private)
    _now: ModerationStatus = field(init=False)
    _in_file: int = 0  # what nobody has changed is not written
    _in_database: int = 0
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._now = self.initial

    @property
    def now(self) -> ModerationStatus:
        """What holds."""
        return self._now

    def change(self, **changes: object) -> ModerationStatus:
        """Let something else hold, at once."""
        self._now = self._now.changed(**changes)
        return self._now

    def load(self) -> None:
        """Take up what an earlier process left; the later of file and database, a pause where both are as late.

        It runs before the first message is taken, so it does not wait for a loop.
        """
        in_file, in_database = self._from_file(), self._from_database()
        found = [one for one in (in_file, in_database) if one is not None]
        if found:
            self._now = max(found, key=lambda one: (one.number, one.paused))
        self._in_file, self._in_database = (0 if one is None else one.number for one in (in_file, in_database))

    async def save(self) -> bool:
        """Write what is not written yet, each place for itself; whether both have it. Raises nothing.

        The file comes first and waits for nobody.
        """
        if self._in_file != self._now.number:
            try:
                self.replace_file(self.file, self._now.model_dump_json())
                self._in_file = self._now.number
            except OSError as error:
                _log.error("%s cannot be written (%s); it is tried again", self.file, error.strerror)
        async with self._writing:
            status = self._now
            if self._in_database != status.number:
                try:
                    await self.database.run(lambda connection: self._put(connection, status))
                    self._in_database = status.number
                except StorageError as error:
                    _log.error("%s", error)
        return self._in_file == self._in_database == self._now.number

    def _put(self, connection: Connection, status: ModerationStatus) -> None:
        row = {"platform": self.platform, "content": status.model_dump_json()}
        connection.execute(upsert(connection.dialect.name, standing_table, row))

    def _from_file(self) -> ModerationStatus | None:
        try:
            text = self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            text = ""
        found = _read(text)
        if found is None:
            _log.error("%s cannot be read. The bot is paused: /mod resume, or delete the file and restart", self.file)
        return found or UNREADABLE

    def _from_database(self) -> ModerationStatus | None:
        query = select(standing_table.c.content).where(standing_table.c.platform == self.platform)
        try:
            text = self.database.run_now(lambda connection: connection.execute(query).scalar())
        except StorageError as error:
            _log.error("%s", error)
            return None
        return None if text is None else _read(text)


def _read(text: str) -> ModerationStatus | None:
    try:
        return ModerationStatus.model_validate_json(text)
    except ValidationError:
        return None
