"""What moderators did: hour, action, pseudonym, kind of target. No message, no member, no channel."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import Connection, delete, insert, select

from adapters.storage.database import Database
from adapters.storage.sealing import Keyring
from adapters.storage.tables import audit
from engine.exceptions import StorageError

NOBODY = b""
"""Who does what no moderator did, such as letting a reply's time run out."""
_MOST_UNWRITTEN = 1_000
_log = logging.getLogger("cafi.moderation")


class Action(StrEnum):
    """What can be done."""

    PAUSE = "pause"
    RESUME = "resume"
    MODE = "mode"
    BLOCK = "block"
    UNBLOCK = "unblock"
    APPROVE = "approve"
    EDIT = "edit"
    DISCARD = "discard"
    EXPIRE = "expire"
    DRAFT = "draft"
    REWORD = "reword"
    POST = "post"
    DROP = "drop"
    POLL = "poll"


class Target(StrEnum):
    """What it was done to, by kind alone."""

    BOT = "bot"
    REPLY = "reply"
    SOURCE = "source"
    TOPIC = "topic"
    INFO_POST = "info post"
    POLL = "poll"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One line of the log; `hour` is hours since 1970, UTC."""

    hour: int
    action: str
    moderator: bytes
    target: str

    @property
    def when(self) -> str:
        """Day and hour, such as 2026-11-21 14 h."""
        return datetime.fromtimestamp(self.hour * 3600, UTC).strftime("%Y-%m-%d %H h")

    @property
    def who(self) -> str:
        """The pseudonym as people read it."""
        return self.moderator[:3].hex() or "–"


@dataclass(kw_only=True)
class AuditLog:
    """Takes down actions; nothing waits for the database, and nothing is lost while it is away for a while."""

    database: Database
    keyring: Keyring
    days: int = 365
    now: Callable[[], float] = time.time
    _unwritten: deque[Entry] = field(default_factory=lambda: deque(maxlen=_MOST_UNWRITTEN))
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def pseudonym(self, moderator: str) -> bytes:
        """Whom a moderator's platform id stands for in this log, as long as the secret stays."""
        return self.keyring.current.keyed("moderator", moderator.encode())

    def note(self, action: Action, target: Target, moderator: str | None) -> None:
        """Take down an action of a moderator, None for nobody's; it is written by `save`."""
        who = NOBODY if moderator is None else self.pseudonym(moderator)
        self._unwritten.append(Entry(hour=int(self.now() // 3600), action=action, moderator=who, target=target))

    async def save(self) -> bool:
        """Write what is not written yet, each entry once; whether that went well. Raises nothing."""
        async with self._writing:
            entries = list(self._unwritten)
            if not entries:
                return True
            rows = [{name: getattr(one, name) for name in ("hour", "action", "moderator", "target")} for one in entries]
            # Taken out first: when the caller is cancelled, the transaction goes on by itself.
            self._unwritten.clear()
            try:
                await self.database.run(lambda connection: connection.execute(insert(audit), rows))
            except StorageError as error:
                _log.error("%s", error)
                since = list(self._unwritten)
                self._unwritten.clear()
                self._unwritten.extend((*entries, *since))  # the oldest go first when there are too many
                return False
            return True

    async def entries(self, most: int = 1_000) -> list[Entry]:
        """The last entries, the newest first. Raises StorageError."""

        def work(connection: Connection) -> list[Entry]:
            query = select(audit).order_by(audit.c.id.desc()).limit(most)
            return [
                Entry(hour=row.hour, action=row.action, moderator=bytes(row.moderator), target=row.target)
                for row in connection.execute(query)
            ]

        return await self.database.run(work)

    async def sweep(self) -> None:
        """Erase what is older than `days`. Raises StorageError."""
        oldest = int(self.now() // 3600) - self.days * 24
        await self.database.run(lambda connection: connection.execute(delete(audit).where(audit.c.hour < oldest)))


def tally(entries: Sequence[Entry], since_hour: int) -> Counter[str]:
    """How often each action was taken since an hour."""
    return Counter(one.action for one in entries if one.hour >= since_hour)
