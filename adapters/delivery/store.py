"""Chats and waiting messages on disk: every one sealed, every change one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.conversation.receipt import Receipt
from adapters.conversation.state import ChatState
from adapters.storage.bells import ring
from adapters.storage.database import Database
from adapters.storage.erasure import Names, erase
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming
from adapters.storage.seal import Keyring, Seal
from adapters.storage.tables import asked, boards, chats, cursors, endpoint_spending, inbox, polls, secrets, spending
from adapters.storage.upsert import insert_new, upsert
from engine import SealBroken, StaleState

_STATE, _WAITING, _CURSOR = "state", "waiting", "cursor"
_UNSEALED = b"\x00"
"""In place of the number of a sealed text's form: the migration had no secret to seal with."""
POLL_DAYS = 7
"""A poll that nobody has answered by then is forgotten."""
SPENDING_DAYS = 14
"""So many days of what models have cost are kept, as sums of all chats, and shown to the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A chat as it lies on disk. `version` is 0 and `state` None for a new one; `lost`: it was there and did not open."""

    state: ChatState | None = None
    version: int = 0
    lost: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A message in the inbox. `attempts`: how often the process ended while it was being answered.

    `begun`: which beginning of it this is, where several processes could begin it; only the last one may end it.
    `since`: from when on it has waited for whoever answers it, by the monotonic clock; None where nobody asks.
    """

    row: int
    incoming: Incoming
    attempts: int = 0
    begun: int | None = None
    since: float | None = None

    @property
    def held(self) -> ColumnElement[bool]:
        """The condition under which it is still in these hands."""
        this = inbox.c.id == self.row
        return this if self.begun is None else and_(this, inbox.c.attempts == self.begun)


class Superseded(Exception):
    """A message is not this process's to answer any more: another one has begun it, or ended it, or it was erased."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """A row of the inbox as others may know it: no word, and no platform's id. `chat`: pseudonym."""

    chat: bytes
    platform: str
    row: int = 0


Enqueue = Callable[[Connection, Sequence[Stored]], None]
"""What is done of messages in the transaction that stores them."""


class Contexts(Protocol):
    """What is carried between several chats of one person."""

    async def noted(self, arrived: Sequence[Incoming]) -> None:
        """Messages are about to be put on disk."""
        ...

    async def loaded(self, identity: ChatIdentity, kept: Kept) -> Kept:
        """A chat with what holds in it from elsewhere."""
        ...

    async def finished(self, identity: ChatIdentity, state: ChatState) -> None:
        """A chat was written."""
        ...


@dataclass(frozen=True, kw_only=True)
class ChatStore:
    """All that is stored of chats. Every method is one transaction and raises StorageError.

    `inbox_secret` seals waiting messages; it lies apart from the database and from the keyring. `now` gives seconds
    since 1970. `erased`: told of each chat that was erased, by whoever holds something of chats in memory.
    """

    database: Database
    naming: Naming
    inbox_secret: Seal
    idle_hours: int = 24
    now: Callable[[], float] = time.time
    erased: list[Callable[[ChatIdentity], None]] = field(default_factory=list)
    contexts: Contexts | None = None
    """Where people have several chats; what it does is transactions of its own."""

    @property
    def keyring(self) -> Keyring:
        """The operator's secrets."""
        return self.naming.keyring

    # --- Messages that wait -----------------------------------------------------------------------------------------

    async def take(
        self,
        arrived: Sequence[Incoming],
        cursor: tuple[str, int] | None = None,
        enqueue: Enqueue | None = None,
    ) -> list[Waiting]:
        """Put messages on disk; with them goes the number of the platform's update they came with, and `enqueue`."""
        if self.contexts is not None:
            await self.contexts.noted(arrived)
        stored = [self._stored(one) for one in arrived]
        sealed = [
            {"chat": here.chat, "attempts": 0, "sealed": self.inbox_secret.seal(_WAITING, b"", one.to_json())}
            for here, one in zip(stored, arrived, strict=True)
        ]
        noted = None if cursor is None else self._cursor_row(*cursor)

        def work(connection: Connection) -> list[int]:
            rows = []
            for values in sealed:
                key = connection.execute(insert(inbox).values(values)).inserted_primary_key
                rows.append(int(key[0]) if key else 0)
            if enqueue is not None and rows:
                enqueue(connection, [replace(one, row=row) for one, row in zip(stored, rows, strict=True)])
            if noted is not None:
                connection.execute(upsert(connection.dialect.name, cursors, noted))
            return rows

        rows = await self.database.run(work, in_order=True)
        return [Waiting(row=row, incoming=one) for row, one in zip(rows, arrived, strict=True)]

    def stored(self, waiting: Waiting) -> Stored:
        """A message on disk as others may know it."""
        return replace(self._stored(waiting.incoming), row=waiting.row)

    def _stored(self, incoming: Incoming) -> Stored:
        return Stored(chat=self._inbox_name(incoming.identity), platform=incoming.identity.platform)

    async def cursor(self, name: str) -> int | None:
        """The number of the last update that was taken from a platform; None where it is not known (any more)."""
        sealed = await self.database.run(
            lambda connection: connection.execute(select(cursors.c.sealed).where(cursors.c.name == name)).scalar()
        )
        if sealed is None:
            return None
        try:
            return int.from_bytes(self.keyring.open(_CURSOR, name.encode(), sealed), "big")
        except SealBroken:
            return None

    async def put_cursor(self, name: str, value: int) -> None:
        """Note a number under a name, without any message."""
        await self.take([], (name, value))

    async def seal_cursors(self) -> None:
        """Seal the numbers that a version without seals has left."""

        def work(connection: Connection) -> None:
            for name, sealed in connection.execute(select(cursors.c.name, cursors.c.sealed)).all():
                if sealed[:1] == _UNSEALED:
                    row = self._cursor_row(name, int.from_bytes(sealed[1:], "big"))
                    this = (cursors.c.name == name) & (cursors.c.sealed == sealed)
                    connection.execute(update(cursors).where(this).values(row))

        await self.database.run(work)

    def _cursor_row(self, name: str, value: int) -> dict[str, str | bytes]:
        return {"name": name, "sealed": self.keyring.current.seal(_CURSOR, name.encode(), value.to_bytes(8, "big"))}

    async def unanswered(self, platform: str) -> tuple[list[Waiting], int]:
        """The waiting messages of a platform in order, and how many cannot be opened any more (they are dropped)."""
        rows = await self.database.run(
            lambda connection: connection.execute(
                select(inbox.c.id, inbox.c.attempts, inbox.c.sealed).order_by(inbox.c.id)
            ).all()
        )
        found, closed = [], []
        for row, attempts, sealed in rows:
            try:
                incoming = Incoming.from_json(self.inbox_secret.open(_WAITING, b"", sealed))
            except (SealBroken, ValueError, KeyError, TypeError):
                closed.append(row)
                continue
            if incoming.identity.platform == platform:
                found.append(Waiting(row=row, incoming=incoming, attempts=attempts))
        if closed:
            await self.database.run(lambda connection: connection.execute(delete(inbox).where(inbox.c.id.in_(closed))))
        return found, len(closed)

    async def tried(self, rows: Sequence[int]) -> None:
        """Note that these were in somebody's hands when the process ended, so that none fells it for ever."""
        attempts = inbox.c.attempts + 1
        await self.database.run(
            lambda connection: connection.execute(update(inbox).where(inbox.c.id.in_(rows)).values(attempts=attempts))
        )

    async def waiting(self, rows: Sequence[int]) -> set[int]:
        """Which of these messages still wait: erasing a chat takes those that wait along."""
        kept = select(inbox.c.id).where(inbox.c.id.in_(rows))
        return set(await self.database.run(lambda connection: connection.execute(kept).scalars().all()))

    async def begin(self, row: int) -> Waiting | None:
        """Take a message into this process's hands, and out of any other's; None where it is answered or erased.

        Raises SealBroken for one that does not open, and ConfigurationError without the inbox's key.
        """
        begun = update(inbox).where(inbox.c.id == row).values(attempts=inbox.c.attempts + 1)
        found = await self.database.run(
            lambda connection: connection.execute(begun.returning(inbox.c.attempts, inbox.c.sealed)).first()
        )
        if found is None:
            return None
        try:
            incoming = Incoming.from_json(self.inbox_secret.open(_WAITING, b"", found.sealed))
        except (ValueError, KeyError, TypeError):
            raise SealBroken from None
        return Waiting(row=row, incoming=incoming, attempts=found.attempts - 1, begun=found.attempts)

    async def drop(self, row: int) -> None:
        """Erase a message that nobody can open."""
        await self.database.run(lambda connection: connection.execute(delete(inbox).where(inbox.c.id == row)))

    async def hold(self, waiting: Waiting) -> None:
        """Make sure that a message is still in these hands; raises Superseded."""
        held = select(inbox.c.id).where(waiting.held)
        if await self.database.run(lambda connection: connection.execute(held).first()) is None:
            raise Superseded

    async def counted(self, chats: Collection[ChatIdentity]) -> dict[ChatIdentity, int]:
        """How many messages of each chat wait."""
        names = {self._inbox_name(one): one for one in chats}
        waiting = select(inbox.c.chat, func.count()).where(inbox.c.chat.in_(names)).group_by(inbox.c.chat)
        rows = await self.database.run(lambda connection: connection.execute(waiting).all())
        return {names[bytes(chat)]: count for chat, count in rows}

    def count_waiting(self, connection: Connection, identity: ChatIdentity) -> int:
        """How many messages of one chat wait, within a transaction."""
        waiting = select(func.count()).where(inbox.c.chat == self._inbox_name(identity))
        return int(connection.execute(waiting).scalar_one())

    # --- Chats ------------------------------------------------------------------------------------------------------

    async def load(self, identity: ChatIdentity) -> Kept:
        """A chat's state, under whichever secret it lies."""
        kept = await self._load(identity)
        return kept if self.contexts is None else await self.contexts.loaded(identity, kept)

    async def _load(self, identity: ChatIdentity) -> Kept:
        chat = await self.naming.of(identity)
        keys = chat.names("chat")
        rows = await self.database.run(
            lambda connection: connection.execute(
                select(chats.c.chat, chats.c.version, chats.c.sealed, chats.c.seen_hour).where(chats.c.chat.in_(keys))
            ).all()
        )
        by_key = {bytes(row.chat): row for row in rows}
        # The version counts on from the row under the present key only: that is the one that is written.
        version = by_key[keys[0]].version if keys[0] in by_key else 0
        for key in keys:
            row = by_key.get(key)
            if row is None or row.seen_hour + self.idle_hours < self.hour():
                continue
            try:
                state = ChatState.from_json(chat.open(_STATE, row.sealed))
            except (SealBroken, ValueError, KeyError, TypeError):
                return Kept(version=version, lost=True)
            return Kept(state=state, version=version)
        return Kept(version=version)

    async def finish(
        self,
        row: int | Waiting | None,
        identity: ChatIdentity,
        state: ChatState | None,
        version: int,
        poll: tuple[str, Poll] | None = None,
    ) -> int:
        """A message is answered: its row goes, the state after it comes, both or neither. The state's new version.

        `row`: the message, or its number; as a message it has to be in these hands. `poll`: the platform's name of a poll
        that was shown, and what it asks.

        Raises StaleState when somebody else has written the chat since it was loaded, and Superseded.
        """
        # Where nothing is written of a chat that may have been erased, nothing is made of its identity either.
        chat = None if state is None and poll is None else await self.naming.of(identity)
        keys = () if chat is None else chat.names("chat")
        sealed = None if chat is None or state is None else chat.seal(_STATE, state.to_json())
        shown = None if chat is None or poll is None else self._poll_row(identity.platform, keys[0], *poll)

        def work(connection: Connection) -> int:
            if isinstance(row, Waiting):
                if connection.execute(delete(inbox).where(row.held)).rowcount != 1:
                    raise Superseded
            elif row is not None:
                connection.execute(delete(inbox).where(inbox.c.id == row))
            if shown is not None:
                connection.execute(upsert(connection.dialect.name, polls, shown))
            if sealed is None:
                return version
            values = {"version": version + 1, "seen_hour": self.hour(), "sealed": sealed}
            if version == 0:
                connection.execute(delete(chats).where(chats.c.chat.in_(keys[1:])))
                new = insert_new(connection.dialect.name, chats, {"chat": keys[0], **values})
                if connection.execute(new).rowcount != 1:
                    raise StaleState
            else:
                this = (chats.c.chat == keys[0]) & (chats.c.version == version)
                if connection.execute(update(chats).where(this).values(values)).rowcount != 1:
                    raise StaleState
            return version + 1

        written = await self.database.run(work)
        if self.contexts is not None and state is not None:
            await self.contexts.finished(identity, state)
        return written

    def _poll_row(self, platform: str, chat: bytes, name: str, poll: Poll) -> dict[str, bytes | int]:
        context = _poll_context(platform, name)
        return {
            "poll": self.keyring.current.keyed("poll", context),
            "chat": chat,
            "day": int(self.now() // 86_400),
            "sealed": self.keyring.current.seal("poll", context, poll.to_json()),
        }

    async def answered_poll(self, platform: str, name: str) -> Poll | None:
        """The poll that the platform calls so, which is then forgotten; None for one that is not ours (any more)."""
        context = _poll_context(platform, name)
        ours = polls.c.poll.in_(self.keyring.names("poll", context))

        def work(connection: Connection) -> bytes | None:
            return connection.execute(delete(polls).where(ours).returning(polls.c.sealed)).scalars().first()

        sealed = await self.database.run(work)
        if sealed is None:
            return None
        try:
            return Poll.from_json(self.keyring.open("poll", context, sealed))
        except (SealBroken, ValueError, KeyError, TypeError):
            return None

    async def erase(self, identity: ChatIdentity, *, asked_by: Waiting | None = None) -> Receipt:
        """Erase everything of a chat at once, here and with all who listen.

        `asked_by`: the message that asks for it. It has to be in these hands, and stays until it is answered; raises
        Superseded.
        """
        kept = None if asked_by is None else asked_by.row
        names = Names.of(await self.naming.of(identity), self._inbox_name(identity), kept)

        def work(connection: Connection) -> dict[str, int]:
            if asked_by is not None:
                held = select(inbox.c.id).where(asked_by.held).with_for_update()
                if connection.execute(held).first() is None:
                    raise Superseded
            return erase(connection, names)

        gone = await self.database.run(work)
        self.naming.forget(identity)
        for forget in self.erased:
            forget(identity)
        return Receipt(
            chat=gone["chats"],
            waiting=gone["inbox"],
            asked=gone["asked"],
            polls=gone["polls"],
            reviews=gone["reviews"],
        )

    # --- Upkeep -----------------------------------------------------------------------------------------------------

    async def sweep(self, asked_days: int) -> int:
        """Erase what has expired; how many chats. What seems to come from the future counts as of now."""
        hour, day = self.hour(), int(self.now() // 86_400)

        def work(connection: Connection) -> int:
            connection.execute(update(chats).where(chats.c.seen_hour > hour).values(seen_hour=hour))
            connection.execute(delete(asked).where((asked.c.day < day - asked_days) | (asked.c.day > day)))
            connection.execute(delete(polls).where((polls.c.day < day - POLL_DAYS) | (polls.c.day > day)))
            for sums in (spending, endpoint_spending):
                connection.execute(delete(sums).where((sums.c.day <= day - SPENDING_DAYS) | (sums.c.day > day)))
            connection.execute(update(secrets).where(secrets.c.day > day).values(day=day))
            over = (boards.c.seen_hour + self.idle_hours < hour) | (boards.c.seen_hour > hour)
            ring(connection, connection.execute(delete(boards).where(over).returning(boards.c.chat)).scalars().all())
            return connection.execute(delete(chats).where(chats.c.seen_hour + self.idle_hours < hour)).rowcount

        return await self.database.run(work)

    # --- Sums -------------------------------------------------------------------------------------------------------

    async def spent(self, day: int) -> tuple[int, float]:
        """Tokens and cost of a day."""
        row = await self.database.run(
            lambda connection: connection.execute(
                select(spending.c.tokens, spending.c.cost).where(spending.c.day == day)
            ).first()
        )
        return (0, 0.0) if row is None else (row.tokens, row.cost)

    async def spent_at(self, day: int) -> dict[str, tuple[int, float]]:
        """The same for each endpoint of language models, by name."""
        at = endpoint_spending.c
        rows = await self.database.run(
            lambda connection: connection.execute(select(at.endpoint, at.tokens, at.cost).where(at.day == day)).all()
        )
        return {row.endpoint: (row.tokens, row.cost) for row in rows}

    async def spend(
        self, day: int, tokens: int, cost: float, at: Mapping[str, tuple[int, float]] | None = None
    ) -> tuple[int, float]:
        """Add to a day's sums; what they are then. `at`: tokens and cost by endpoint, which are part of them."""
        row = {"day": day, "tokens": tokens, "cost": cost}
        rows = [  # in one order, so that none waits for another
            {"day": day, "endpoint": one, "tokens": some, "cost": price}
            for one, (some, price) in sorted((at or {}).items())
        ]

        def work(connection: Connection) -> tuple[int, float]:
            added, kind = ("tokens", "cost"), connection.dialect.name
            whole = upsert(kind, spending, row, adding=added).returning(spending.c.tokens, spending.c.cost)
            sums = connection.execute(whole).one()
            for each in rows:
                connection.execute(upsert(kind, endpoint_spending, each, adding=added))
            return sums.tokens, sums.cost

        return await self.database.run(work)

    def _inbox_name(self, identity: ChatIdentity) -> bytes:
        """Under which name messages wait. It may be quick to guess: whoever has its key can read them anyway."""
        return self.inbox_secret.keyed(_WAITING, identity.canonical())

    def hour(self) -> int:
        """Hours since 1970."""
        return int(self.now() // 3600)


def _poll_context(platform: str, name: str) -> bytes:
    return f"{platform}:{name}".encode()
