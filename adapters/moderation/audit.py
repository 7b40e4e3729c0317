"""What moderators and the operator's people did: hour, action, pseudonym, kind of target, and, sealed, what was posted or which
source was changed. No member of a community, no channel."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from adapters.storage.database import Database
from adapters.storage.seal import Keyring
from adapters.storage.tables import audit
from engine import SealBroken, StorageError

NOBODY = b""
"""Who does what no moderator did, such as letting a reply's time run out."""
CLOSED = "…"
"""In place of words that no secret opens any more."""
_PURPOSE = "audit"
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
    POLL_DRAFT = "poll-draft"
    POLL_DROP = "poll-drop"
    POLL = "poll"


class StaffAction(StrEnum):
    """What can be done in the operator's pages, beside pausing."""

    SIGN_IN = "sign-in"
    SIGN_OUT = "sign-out"
    INVITE = "invite"
    REMOVE_MEMBER = "remove-member"
    PROPOSE = "propose"
    APPROVE_CHANGE = "approve-change"
    SIGN_OFF = "sign-off"
    REFUSE_CHANGE = "refuse-change"
    WITHDRAW_CHANGE = "withdraw-change"
    RESTORE = "restore"
    EXPORT = "export"


class Target(StrEnum):
    """What it was done to, by kind alone."""

    BOT = "bot"
    REPLY = "reply"
    SOURCE = "source"
    TOPIC = "topic"
    INFO_POST = "info post"
    POLL = "poll"
    MEMBER = "member"
    FIGURES = "figures"


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """One line of the log; `hour` is hours since 1970, UTC. `posted`: the words that members read from then on."""

    hour: int
    action: str
    moderator: bytes
    target: str
    posted: str = ""

    @property
    def when(self) -> str:
        """Day and hour, such as 2026-11-21 14 h."""
        return datetime.fromtimestamp(self.hour * 3600, UTC).strftime("%Y-%m-%d %H h")

    @property
    def who(self) -> str:
        """The pseudonym as people read it."""
        return self.moderator[:3].hex() or "–"

    @property
    def context(self) -> bytes:
        """What its sealed words belong to: they open in no other line."""
        return b"%d %s %s" % (self.hour, self.action.encode(), self.moderator)


@dataclass(kw_only=True)
class AuditLog:
    """Takes down actions; nothing waits for the database, and nothing is lost while it is away for a while."""

    database: Database
    keyring: Keyring
    days: int = 365
    now: Callable[[], float] = time.time
    _unwritten: deque[AuditEntry] = field(default_factory=lambda: deque(maxlen=_MOST_UNWRITTEN))
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def pseudonym(self, moderator: str) -> bytes:
        """Whom a moderator's platform id stands for in this log, as long as the secret stays."""
        return self.keyring.current.keyed("moderator", moderator.encode())

    def pseudonyms(self, moderator: str) -> tuple[bytes, ...]:
        """The same under every secret, the present one first."""
        return self.keyring.names("moderator", moderator.encode())

    def note(self, action: Action | StaffAction, target: Target, moderator: str | None, posted: str = "") -> None:
        """Take down an action of a moderator, None for nobody's; it is written by `save`."""
        who = NOBODY if moderator is None else self.pseudonym(moderator)
        hour = int(self.now() // 3600)
        self._unwritten.append(AuditEntry(hour=hour, action=action, moderator=who, target=target, posted=posted))

    async def save(self) -> bool:
        """Write what is not written yet, each entry once; whether that went well. Raises nothing."""
        async with self._writing:
            entries = list(self._unwritten)
            if not entries:
                return True
            rows = [self._row(one) for one in entries]
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

    async def entries(self, most: int = 1_000) -> list[AuditEntry]:
        """The last entries, the newest first. Raises StorageError."""

        def work(connection: Connection) -> list[AuditEntry]:
            query = select(audit).order_by(audit.c.id.desc()).limit(most)
            return [self._read(row) for row in connection.execute(query)]

        return await self.database.run(work)

    def _row(self, entry: AuditEntry) -> dict[str, object]:
        row = {name: getattr(entry, name) for name in ("hour", "action", "moderator", "target")}
        return row | {"sealed": self._sealed(entry) if entry.posted else None}

    def _sealed(self, entry: AuditEntry) -> bytes:
        return self.keyring.current.seal(_PURPOSE, entry.context, entry.posted.encode(errors="surrogatepass"))

    def _read(self, row: Row[Any]) -> AuditEntry:
        entry = AuditEntry(hour=row.hour, action=row.action, moderator=bytes(row.moderator), target=row.target)
        if row.sealed is None:
            return entry
        try:
            posted = self.keyring.open(_PURPOSE, entry.context, bytes(row.sealed)).decode(errors="surrogatepass")
        except SealBroken:
            posted = CLOSED
        return replace(entry, posted=posted)

    async def renew(self) -> None:
        """Put what was posted under the present secret, so that a former one need not be kept for it. Raises StorageError."""

        def work(connection: Connection) -> None:
            for row in connection.execute(select(audit).where(audit.c.sealed.is_not(None))).all():
                entry = self._read(row)
                if entry.posted != CLOSED:
                    connection.execute(update(audit).where(audit.c.id == row.id).values(sealed=self._sealed(entry)))

        await self.database.run(work)

    async def sweep(self) -> None:
        """Erase what is older than `days`. Raises StorageError."""
        oldest = int(self.now() // 3600) - self.days * 24
        await self.database.run(lambda connection: connection.execute(delete(audit).where(audit.c.hour < oldest)))


def tally(entries: Sequence[AuditEntry], since_hour: int) -> Counter[str]:
    """How often each action was taken since an hour."""
    return Counter(one.action for one in entries if one.hour >= since_hour)
